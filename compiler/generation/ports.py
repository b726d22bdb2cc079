"""Names of the inputs and outputs that a decoder gets."""

OPTIONS = "sampling.options"
"""float32 [4]: temperature, top_p, min_p, repetition penalty."""

COUNTS = "sampling.counts"
"""int32 [3]: top_k, seed, position: that of the token, which is drawn by it."""

DRAWS, BY_COUNT, BY_MASS = "sampling.draws", "sampling.by_count", "sampling.by_mass"
"""bool []: whether a token is drawn, else it is the likeliest; whether top_k leaves some out, and whether top_p does. A
branch on an input waits for no device."""

SAMPLING = (OPTIONS, COUNTS, DRAWS, BY_COUNT, BY_MASS)
"""The inputs that a user's options fill."""

SEEN, SEEN_NEXT = "sampling.seen", "sampling.seen.next"
"""uint8 [vocabulary]: an input and an output, which is that of the next run; 1 for each token that occurred."""

TOKEN, LOGPROB = "token", "logprob"
"""int32 [1] and float32 [1]: its logarithm of probability by the logits, before all options."""

TOP_IDS, TOP_LOGPROBS = "top_ids", "top_logprobs"
"""int32 [top] and float32 [top]: the likeliest tokens by the logits, the likeliest first."""

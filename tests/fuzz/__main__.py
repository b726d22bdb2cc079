"""`python tests/fuzz`: looks for faults for some minutes; exit code 1 where there are any. `make fuzz` calls it."""

from __future__ import annotations

import itertools
import os
import secrets
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:1] = [str(ROOT / folder) for folder in ("tests", "tests/bundle", "e2e")]

import click  # noqa: E402
from fuzz.campaign import Campaign, draw_cases  # noqa: E402
from fuzz.case import KINDS  # noqa: E402
from fuzz.check_case import check_case  # noqa: E402
from fuzz.check_model import REFERENCE  # noqa: E402
from fuzz.pool import Pool  # noqa: E402
from webnn_compile.system.cache import FOLDER_VARIABLE  # noqa: E402


@click.command(context_settings={"show_default": True})
@click.option("--minutes", type=float, default=10.0, help="How long to look for faults.")
@click.option("--cases", type=int, help="How many cases at most.")
@click.option("--kind", "kinds", type=click.Choice(KINDS), multiple=True, default=KINDS, help="What to try.")
@click.option("--seed", type=int, help="The first seed of each kind; by default a random one.")
@click.option("--workers", type=int, default=os.cpu_count(), help="Processes that check cases.")
@click.option("--limit", type=float, default=60.0, help="Processor seconds after which a case hangs.")
@click.option("--out", type=click.Path(path_type=Path), default=ROOT / "build" / "fuzz", help="Where findings go.")
def main(
    minutes: float, cases: int | None, kinds: tuple[str, ...], seed: int | None, workers: int, limit: float, out: Path
) -> None:
    """Mutated models and nodes, random graphs and faulty servers, against onnxruntime and what is documented."""
    seed = secrets.randbelow(10**9) if seed is None else seed
    click.echo(f"seed {seed}, kinds {', '.join(kinds)}, {workers} workers")
    start = time.monotonic()
    drawn = itertools.takewhile(lambda _: time.monotonic() < start + 60 * minutes, draw_cases(kinds, seed))
    said = [start]

    def progress(campaign: Campaign) -> None:
        now = time.monotonic()
        if now - said[0] >= (1 if sys.stderr.isatty() else 30):
            said[0] = now
            counts = ", ".join(f"{kind} {sum(c.values())}" for kind, c in campaign.outcomes.items())
            line = f"{(now - start) / 60:.1f} min, {counts}; {len(campaign.findings)} faults"
            click.echo(f"\r{line}\x1b[K" if sys.stderr.isatty() else line, err=True, nl=not sys.stderr.isatty())

    with tempfile.TemporaryDirectory() as kernels:
        os.environ[FOLDER_VARIABLE] = kernels  # the user's cache is neither read nor written
        with Pool(check_case, workers, limit, reference=REFERENCE) as pool:
            campaign = Campaign(pool, out)
            try:
                campaign.run(itertools.islice(drawn, cases), progress)
            except KeyboardInterrupt:
                click.echo("interrupted", err=True)
    click.echo(f"\n{campaign.summary()}")
    sys.exit(1 if campaign.findings else 0)


if __name__ == "__main__":
    main()

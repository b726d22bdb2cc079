// From a photograph to the input of an ImageNet network: shorter side to 256, centre crop 224, RGB, normalised, NCHW.

const mean = [0.485, 0.456, 0.406];
const deviation = [0.229, 0.224, 0.225];

/**
 * @param {string} url
 * @param {number} [crop] side of the result
 * @param {number} [shorter] shorter side before the crop
 * @returns {Promise<Float32Array>}
 */
export async function preprocess(url, crop = 224, shorter = 256) {
  const image = new Image();
  image.src = url;
  await image.decode();
  const { naturalWidth: width, naturalHeight: height } = image;
  const canvas = Object.assign(document.createElement('canvas'), { width, height });
  const context = canvas.getContext('2d', { willReadFrequently: true });
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, width, height);

  // The browsers' own scaling differs from one to the other; this is the one that ImageNet networks are trained with.
  const scale = Math.min(width, height) / shorter;
  const columns = triangles(width, Math.trunc(width / scale), crop);
  const rows = triangles(height, Math.trunc(height / scale), crop);
  const result = new Float32Array(3 * crop * crop);
  for (let channel = 0; channel < 3; channel++) {
    const narrow = new Float32Array(height * crop); // scaled along x only
    for (let y = 0; y < height; y++) {
      columns.forEach(({ from, weights }, x) => {
        let sum = 0;
        for (let i = 0; i < weights.length; i++) sum += weights[i] * data[4 * (y * width + from + i) + channel];
        narrow[y * crop + x] = Math.round(sum);
      });
    }
    rows.forEach(({ from, weights }, y) => {
      for (let x = 0; x < crop; x++) {
        let sum = 0;
        for (let i = 0; i < weights.length; i++) sum += weights[i] * narrow[(from + i) * crop + x];
        result[(channel * crop + y) * crop + x] = (Math.round(sum) / 255 - mean[channel]) / deviation[channel];
      }
    });
  }
  return result;
}

/**
 * For each of the middle `crop` of `to` samples: which of `from` samples it is made of. Linear interpolation, and where
 * it shrinks, a mean weighted by a triangle as wide as two steps.
 * @param {number} from
 * @param {number} to
 * @param {number} crop
 */
function triangles(from, to, crop) {
  const scale = from / to;
  const reach = Math.max(scale, 1);
  const first = Math.round((to - crop) / 2);
  return Array.from({ length: crop }, (_, i) => {
    const centre = (first + i + 0.5) * scale;
    const begin = Math.max(0, Math.floor(centre - reach + 0.5));
    const end = Math.min(from, Math.floor(centre + reach + 0.5));
    const raw = Array.from({ length: end - begin }, (_, j) =>
      Math.max(0, 1 - Math.abs(begin + j + 0.5 - centre) / reach),
    );
    const sum = raw.reduce((a, b) => a + b);
    return { from: begin, weights: raw.map((weight) => weight / sum) };
  });
}

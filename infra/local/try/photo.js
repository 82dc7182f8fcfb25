// Photos: downsized in the browser, then uploaded.

import { NoConnection, wait } from './api.js';
import { Problem } from './problems.js';

/** Longest side in pixels: enough to read a QR code, a tenth of a camera's. */
const MAX_SIDE = 2000;
/** JPEG qualities; the next one if the photo is too large. */
const QUALITIES = [0.85, 0.7, 0.5];
const TRIES = 3;

/** Makes a JPEG of a picture or drawing. Throws a problem if this browser cannot open it. */
export async function downsize(file, maxBytes) {
  const url = URL.createObjectURL(file);
  try {
    const image = new Image();
    image.src = url;
    // The browser turns the picture as the camera says.
    await image.decode().catch(() => {
      throw new Problem('photo', 'file_wrong_type');
    });
    const scale = Math.min(1, MAX_SIDE / Math.max(image.naturalWidth, image.naturalHeight));
    const canvas = document.createElement('canvas');
    canvas.width = Math.max(1, Math.round(image.naturalWidth * scale));
    canvas.height = Math.max(1, Math.round(image.naturalHeight * scale));
    const context = canvas.getContext('2d');
    // JPEG has no transparency: nothing becomes paper, not black.
    context.fillStyle = '#fff';
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.imageSmoothingQuality = 'high';
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    for (const quality of QUALITIES) {
      const blob = await new Promise((resolve) => canvas.toBlob(resolve, 'image/jpeg', quality));
      if (!blob) throw new Problem('photo', 'file_wrong_type');
      if (blob.size <= maxBytes) return blob;
    }
    throw new Problem('photo', 'file_too_large');
  } finally {
    URL.revokeObjectURL(url);
  }
}

/**
 * Uploads a photo to its receipt's target, with retries. `refresh` gives the receipt with
 * a fresh target, or with none if the photo is there. `signal` cancels.
 */
export async function upload(receipt, blob, { refresh, progress, tell, signal }) {
  let target = receipt.upload;
  for (let tried = 1; target; tried += 1) {
    const at = new Date();
    const status = await put(target, blob, progress, signal);
    tell({ method: target.method, path: new URL(target.url).pathname, at, status, note: `${blob.type}, ${blob.size} bytes` });
    if (signal.aborted) throw new Problem('form', 'cancelled');
    // 412: an earlier try stored the photo.
    if (status === 200 || status === 412) return;
    if (tried === TRIES) throw status ? new Problem('form', 'failed') : new NoConnection();
    await wait(500 * tried);
    // 403: the target is too old. After a lost reply, only the service knows.
    target = (await refresh()).upload;
    if (signal.aborted) throw new Problem('form', 'cancelled');
  }
}

/** The status of storage's reply; undefined without one. `fetch` reports no progress. */
function put(target, blob, progress, signal) {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    signal.addEventListener('abort', () => request.abort());
    request.open(target.method, target.url);
    for (const [name, value] of Object.entries(target.headers)) {
      // Browsers set this one themselves.
      if (name.toLowerCase() !== 'content-length') request.setRequestHeader(name, value);
    }
    request.upload.onprogress = (event) => progress(event.loaded / event.total);
    request.onload = () => resolve(request.status);
    request.onerror = request.onabort = () => resolve(undefined);
    request.send(blob);
  });
}

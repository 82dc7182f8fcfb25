// Photos of receipts in a consumer's browser: made smaller, then put into storage. Needs no key and no dependencies.

/** @typedef {import("./api.js").components["schemas"]["Receipt"]} Receipt */

/** Longest side in pixels: enough to read a QR code, a tenth of a camera's. */
const MAX_SIDE = 2000;
/** JPEG qualities; the next one if the photo is too large. */
const QUALITIES = [0.85, 0.7, 0.5];
const TRIES = 3;

/** A photo that cannot be sent: `file_wrong_type`, `file_too_large`, or `upload_failed` with the last status, 0 without a reply. */
export class PhotoError extends Error {
  /** @param {"file_wrong_type" | "file_too_large" | "upload_failed"} code */
  constructor(code, status = 0) {
    super(status ? `${code}: ${status}` : code);
    this.name = "PhotoError";
    this.code = code;
    this.status = status;
  }
}

/** Makes a JPEG that keeps nothing else of the file, such as where it was taken. `maxBytes` is the campaign's `receipt.max_bytes`. @param {Blob} file @param {number} maxBytes @returns {Promise<Blob>} */
export async function downsize(file, maxBytes) {
  const url = URL.createObjectURL(file);
  try {
    const image = new Image();
    image.src = url;
    // The browser turns the picture as the camera says.
    await image.decode().catch(() => {
      throw new PhotoError("file_wrong_type");
    });
    const scale = Math.min(1, MAX_SIDE / Math.max(image.naturalWidth, image.naturalHeight));
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, Math.round(image.naturalWidth * scale));
    canvas.height = Math.max(1, Math.round(image.naturalHeight * scale));
    const context = canvas.getContext("2d");
    if (!context) throw new PhotoError("file_wrong_type");
    // JPEG has no transparency: nothing becomes paper, not black.
    context.fillStyle = "#fff";
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.imageSmoothingQuality = "high";
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    for (const quality of QUALITIES) {
      const photo = await new Promise((/** @type {BlobCallback} */ resolve) => canvas.toBlob(resolve, "image/jpeg", quality));
      if (!photo) throw new PhotoError("file_wrong_type");
      if (photo.size <= maxBytes) return photo;
    }
    throw new PhotoError("file_too_large");
  } finally {
    URL.revokeObjectURL(url);
  }
}

/**
 * Puts a photo where its receipt says. `refresh` asks your server for `refreshUploadUrl`: a reply without `upload` says
 * that the photo is there. `progress` gets the part that is sent, from 0 to 1. Throws what `signal` is aborted with.
 * @param {Receipt} receipt @param {Blob} photo
 * @param {{ refresh: () => Promise<Receipt>, progress?: (part: number) => void, tell?: (status: number) => void, signal?: AbortSignal }} options
 */
export async function upload(receipt, photo, { refresh, progress, tell, signal }) {
  signal?.throwIfAborted();
  let target = receipt.upload;
  for (let tried = 1; target; tried += 1) {
    const status = await put(target, photo, progress, signal);
    tell?.(status);
    signal?.throwIfAborted();
    // 412: an earlier try stored the photo.
    if (status === 200 || status === 412) return;
    if (tried === TRIES) throw new PhotoError("upload_failed", status);
    await new Promise((resolve) => setTimeout(resolve, 500 * tried));
    // 403: the target is too old. After a lost reply, only the service knows.
    target = (await refresh()).upload;
    signal?.throwIfAborted();
  }
}

/** The status of storage's reply; 0 without one. `fetch` reports no progress. @param {NonNullable<Receipt["upload"]>} target @param {Blob} photo @param {((part: number) => void) | undefined} progress @param {AbortSignal | undefined} signal @returns {Promise<number>} */
function put(target, photo, progress, signal) {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    signal?.addEventListener("abort", () => request.abort());
    request.open(target.method, target.url);
    for (const [name, value] of Object.entries(target.headers)) {
      // Browsers set this one themselves.
      if (name.toLowerCase() !== "content-length") request.setRequestHeader(name, value);
    }
    request.upload.onprogress = (event) => progress?.(event.loaded / event.total);
    request.onload = () => resolve(request.status);
    request.onerror = request.onabort = () => resolve(0);
    request.send(photo);
  });
}

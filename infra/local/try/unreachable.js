// For when the service cannot be asked: what was said already stays, and there is a way to try again.

const $ = (id) => document.getElementById(id);

/** Says so, and calls `retry` when the consumer asks for it, or when the browser has a network again. */
export function showUnreachable(text, retry) {
  const again = () => {
    hideUnreachable();
    retry();
  };
  $('unreachable-text').textContent = text;
  $('unreachable').hidden = false;
  $('reconnect').onclick = again;
  window.ononline = again;
}

export function hideUnreachable() {
  $('unreachable').hidden = true;
  window.ononline = null;
}

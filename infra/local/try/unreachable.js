// The service cannot be reached: messages stay, and it is tried again once there is a network.

const $ = (id) => document.getElementById(id);
/** Pause between tries while the browser reports a network. */
const RETRY_MS = 30_000;

/** Calls `act` once the network is back. Returns a function that ends the wait. */
export function whenBack(act) {
  const ended = new AbortController();
  const back = () => {
    ended.abort();
    act();
  };
  window.addEventListener('online', back, { signal: ended.signal });
  const timer = setInterval(() => navigator.onLine && back(), RETRY_MS);
  ended.signal.addEventListener('abort', () => clearInterval(timer));
  return () => ended.abort();
}

let endWait = () => {};

/** Shows a message, and calls `retry` on request or once the network is back. */
export function showUnreachable(text, retry) {
  const again = () => {
    hideUnreachable();
    retry();
  };
  hideUnreachable();
  $('unreachable-text').textContent = text;
  $('unreachable').hidden = false;
  $('reconnect').onclick = again;
  endWait = whenBack(again);
}

export function hideUnreachable() {
  $('unreachable').hidden = true;
  endWait();
}

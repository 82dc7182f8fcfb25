// Survives a reload, until the tab is closed: what was typed and not sent yet, with its Idempotency-Key; later the id of
// the entry alone, without phone and code.

/** Keeps a value for the campaign and key of an API; null forgets it. */
export function keep(api, value) {
  try {
    if (value) sessionStorage.setItem(api.base, JSON.stringify(value));
    else sessionStorage.removeItem(api.base);
  } catch {
    // A browser that keeps nothing forgets it at a reload.
  }
}

export function kept(api) {
  try {
    return JSON.parse(sessionStorage.getItem(api.base)) ?? {};
  } catch {
    return {};
  }
}

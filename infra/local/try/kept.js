// Values that survive a reload until the tab is closed: unsent typing with its Idempotency-Key; later the id of
// the entry alone, without phone and code.

/** Keeps a value for an API's campaign and key; null forgets it. */
export function keep(api, value) {
  try {
    if (value) sessionStorage.setItem(api.base, JSON.stringify(value));
    else sessionStorage.removeItem(api.base);
  } catch {
    // Some browsers keep nothing.
  }
}

export function kept(api) {
  try {
    return JSON.parse(sessionStorage.getItem(api.base)) ?? {};
  } catch {
    return {};
  }
}

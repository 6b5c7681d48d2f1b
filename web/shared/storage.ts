// The storage of the browser, which throws if the user has disabled it.

/** Returns a stored value. */
export function stored(storage: () => Storage, name: string): string | undefined {
  try {
    return storage().getItem(name) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Stores a value, or removes it. */
export function store(storage: () => Storage, name: string, value: string | undefined): void {
  try {
    if (value === undefined) storage().removeItem(name);
    else storage().setItem(name, value);
  } catch {
    // The value is not stored.
  }
}

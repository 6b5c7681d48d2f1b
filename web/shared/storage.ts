// What the browser keeps, unless it was told to keep nothing: then it throws.

export function stored(storage: () => Storage, name: string): string | undefined {
  try {
    return storage().getItem(name) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Keeps a value, or forgets it. */
export function store(storage: () => Storage, name: string, value: string | undefined): void {
  try {
    if (value === undefined) storage().removeItem(name);
    else storage().setItem(name, value);
  } catch {
    // It is as if it was asked to forget.
  }
}

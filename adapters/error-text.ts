/** A member of an error that is a text. Not by instanceof: a DOMException of the runtime is no Error of every realm. */
export function errorText(error: unknown, name: 'code' | 'name'): string | undefined {
  const value: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, name) : undefined;
  return typeof value === 'string' ? value : undefined;
}

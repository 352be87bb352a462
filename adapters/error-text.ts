/** A member of an error that is a text. Not by instanceof: a DOMException of the runtime is not an Error in every realm. */
export function errorText(error: unknown, name: 'code' | 'name'): string | undefined {
  const value: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, name) : undefined;
  return typeof value === 'string' ? value : undefined;
}

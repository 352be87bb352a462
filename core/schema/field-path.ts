/** `spec` and `cycleDuration` → `spec.cycleDuration`; the root has an empty name. */
export function joinField(parent: string, name: string): string {
  return parent === '' ? name : `${parent}.${name}`;
}

/** RFC 6901 pointer below `root` → the path people know: (`spec`, `/profiles/0/addresses`) → `spec.profiles[0].addresses`. */
export function fieldOfPointer(root: string, pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((field, token) => (/^\d+$/.test(token) ? `${field}[${token}]` : joinField(field, token)), root);
}

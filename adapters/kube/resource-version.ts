/** Opaque by contract, comparable since Kubernetes 1.35: decimal numbers of any size. */
export function compareVersions(left: string, right: string): number {
  const numbers = /^[0-9]+$/;
  if (!numbers.test(left) || !numbers.test(right)) return left === right ? 0 : -1;
  const [a, b] = [BigInt(left), BigInt(right)];
  return a === b ? 0 : a < b ? -1 : 1;
}

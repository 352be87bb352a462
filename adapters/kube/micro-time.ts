/** RFC 3339 in UTC with six digits, as Kubernetes' MicroTime requires. */
export function microTime(epochMs: number): string {
  return new Date(epochMs).toISOString().replace(/\.(\d{3})Z$/, '.$1000Z');
}

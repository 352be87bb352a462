/**
 * The number of the data format follows the epoch: "id:since:2", and "id:since:2:converting" while data of the first
 * format are converted. The first format had no number, and its versions compare "id:since". As soon as the first
 * replica converts, they all find another epoch, sign nothing and write nothing.
 */
const format = 2;
const plain = /^[^:]+:([0-9]+|%now)$/;

/** The text in Redis for an epoch "id:since". */
export function keptOfEpoch(epoch: string): string {
  return plain.test(epoch) ? `${epoch}:${format}` : epoch;
}

/**
 * The epoch "id:since" of data in the present format. Any other text is returned unchanged, so it never equals a known
 * epoch.
 */
export function epochOfKept(kept: string): string {
  const end = `:${format}`;
  return kept.endsWith(end) && plain.test(kept.slice(0, -end.length)) ? kept.slice(0, -end.length) : kept;
}

/** Whether data must be converted first; also true when a conversion has begun. */
export function isFirstFormat(kept: string): boolean {
  return plain.test(kept) || isConverting(kept);
}

export function convertingOf(kept: string): string {
  return isConverting(kept) ? kept : `${kept}${converting}`;
}

export function convertedOf(kept: string): string {
  return keptOfEpoch(kept.replace(converting, ''));
}

const converting = `:${format}:converting`;

function isConverting(kept: string): boolean {
  return kept.endsWith(converting);
}

import type { Answers } from '../answers.js';

export type NamedKey = Answers['listPaymasterKeys']['items'][number];
export type SecretKey = Answers['showPaymasterKey'];

/** A header says whether the servers are being told already; each hears of it within a second. */
export function told(answer: Response, says: string): string {
  const isTold = answer.headers.get('x-programmed') === 'true';
  return `${says} ${isTold ? 'within a second.' : 'once the servers are told; Problems says what keeps them from it.'}`;
}

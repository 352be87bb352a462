/**
 * Moves of the adversary, and what is checked besides, that the service does not withstand yet are not listed here. A run leaves out
 * what is not listed.
 */
const all = [
  'relay',
  'wrapped',
  'fat',
  'fat-input',
  'withdraw',
  'wallets',
  'failing-signer',
  'lost-answer',
  'losses',
  'bars',
  'secured',
] as const;
export type Move = (typeof all)[number];
const listed: readonly Move[] = [
  'relay',
  'wrapped',
  'fat',
  'fat-input',
  'withdraw',
  'wallets',
  'failing-signer',
  'lost-answer',
  'losses',
  'bars',
  'secured',
];

const asked = process.env['PAYMASTER_TEST_MOVES'];
const made: ReadonlySet<string> = new Set(asked === undefined ? listed : asked.split(','));

export function isMade(move: Move): boolean {
  return made.has(move);
}

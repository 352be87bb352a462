/**
 * What the journal records. Every operation states what is true afterwards, never a difference: reading one twice, or
 * reading it over a newer image, leaves the same state. That is what allows an image to be written in pieces while the
 * state moves on (see usage-journal.ts).
 *
 * Sums of what is reserved are not recorded, they follow from the reservations. Texts that repeat are named once (`n`,
 * `a`) and written as their number, 0 for none. Amounts are gwei or counts.
 */
export type Op =
  /** Paymaster id: its number, text. */
  | readonly ['n', number, string]
  /** Address: its number, text. */
  | readonly ['a', number, string]
  /** Window: number, policy, cycle start, duration, index, unit (0 COUNT, 1 NATIVE_ASSET). */
  | readonly ['w', number, string, number, number, number, number]
  /** Newest config generation: paymaster, generation. */
  | readonly ['g', number, number]
  /** Reservation; see {@link ReservationOp}. */
  | ReservationOp
  /** Reservation ended: chain, paymaster, EntryPoint, sender, nonce in hex. */
  | readonly ['d', number, number, number, string, string]
  /** Settled use of a counter: window, subject, used. */
  | readonly ['c', number, string, number]
  /** Account balance: chain, contract, funding, balance, read at. */
  | readonly ['b', number, number, number, number, number]
  /** Cursor: chain, block number, block hash, timestamp. */
  | readonly ['h', number, number, string, number]
  /** Funding message: paymaster id, message or null when used up, expiry. */
  | readonly ['f', string, string | null, number]
  /** Windows that ended before this moment may be forgotten. */
  | readonly ['p', number]
  /** Epoch: chain, id, since. */
  | readonly ['e', number, string, number];

/**
 * chain, paymaster, EntryPoint, sender, nonce in hex, contract, mode (0 SPONSORED, 1 ERC20), funding, validUntil,
 * counters as triples (window, subject: 0 none, 1 the sender, else text; cost),
 * accounts as triples (contract, funding, need), userOpHash where known.
 */
export type ReservationOp = readonly [
  'r',
  number,
  number,
  number,
  string,
  string,
  number,
  number,
  number,
  number,
  readonly (number | string)[],
  readonly number[],
  string?,
];

const shapes: Readonly<Record<Op[0], string>> = {
  n: 'number,string',
  a: 'number,string',
  w: 'number,string,number,number,number,number',
  g: 'number,number',
  r: 'number,number,number,string,string,number,number,number,number,array,array',
  d: 'number,number,number,string,string',
  c: 'number,string,number',
  b: 'number,number,number,number,number',
  h: 'number,number,string,number',
  f: 'string,string,number',
  p: 'number',
  e: 'number,string,number',
};

/** Parses one row of the journal or an image; throws RangeError when it was not written by this module. */
export function parseOps(text: string): readonly Op[] {
  const ops: unknown = JSON.parse(text);
  if (!Array.isArray(ops)) throw new RangeError('a journal row is not a list');
  for (const op of ops) if (!isOp(op)) throw new RangeError(`unknown journal entry ${JSON.stringify(op)}`);
  return ops;
}

function isOp(value: unknown): value is Op {
  if (!Array.isArray(value)) return false;
  const [letter, ...fields] = value;
  if (typeof letter !== 'string' || !Object.hasOwn(shapes, letter)) return false;
  const shape = fields.map(typeName).join(',');
  const want = shapes[letter as Op[0]];
  return shape === want || (letter === 'r' && shape === `${want},string`) || isUsedUpMessage(letter, fields);
}

function isUsedUpMessage(letter: string, fields: readonly unknown[]): boolean {
  return letter === 'f' && fields.map(typeName).join(',') === 'string,null,number';
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

import { parseArgs } from 'node:util';

export type BenchOptions = {
  /** Interleaved rounds; figures are medians over them. */
  readonly repeats: number;
  /** Length of a window at concurrency 32; at 1 it is half. */
  readonly seconds: number;
  readonly parts: readonly Part[];
  /** Numbers of paymasters that the part `kube` measures at, ascending. */
  readonly sizes: readonly number[];
  /** A built checkout of another commit, which the part `before` compares with. */
  readonly before: string | undefined;
  /** Every part in seconds, to see that it works. Its figures mean little, so only errors count. */
  readonly isShort: boolean;
  /** As many of something as a part measures with: a hundredth of it, and at least one, in the short form. */
  count(full: number): number;
};

export const parts = [
  'servers',
  'durable',
  'tokens',
  'signers',
  'scale',
  'postgres',
  'store',
  'rules',
  'ledger',
  'ledger-query',
  'what-if',
  'consoles',
  'propagation',
  'kube',
  'failover',
  'before',
] as const;
/** Run when they are named: each lost leader takes a lease's time, several minutes in all; `before` needs another build. */
const partsByDefault = parts.filter((part) => !['failover', 'before'].includes(part));
export type Part = (typeof parts)[number];

/** A window, not a figure: long enough for some hundred requests. */
const short = { repeats: '1', seconds: '0.2', parts, sizes: '10,20', before: '.' };
const full = {
  repeats: '5',
  seconds: '1.5',
  parts: partsByDefault,
  sizes: '100,1000,10000',
  before: undefined,
};

/** `--repeats 5 --seconds 1.5 --only servers,scale --sizes 100,1000`, or `--short`. Throws RangeError on anything else. */
export function parseOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      repeats: { type: 'string' },
      seconds: { type: 'string' },
      only: { type: 'string' },
      sizes: { type: 'string' },
      before: { type: 'string' },
      short: { type: 'boolean', default: false },
    },
  });
  const isShort = values.short;
  const usual = isShort ? short : full;
  const chosen = values.only?.split(',') ?? usual.parts;
  for (const name of chosen)
    if (!(parts as readonly string[]).includes(name))
      throw new RangeError(`--only must list ${parts.join(', ')}, got "${name}"`);
  return {
    repeats: positive('--repeats', values.repeats ?? usual.repeats),
    seconds: positive('--seconds', values.seconds ?? usual.seconds),
    parts: parts.filter((part) => chosen.includes(part)),
    sizes: (values.sizes ?? usual.sizes)
      .split(',')
      .map((size) => positive('--sizes', size))
      .toSorted((a, b) => a - b),
    before: values.before ?? usual.before,
    isShort,
    count: (all) => (isShort ? Math.ceil(all / 100) : all),
  };
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new RangeError(`${name} must be a number above 0, got "${text}"`);
  return value;
}

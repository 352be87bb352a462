import { quote } from '../../errors.js';
import { instant } from '../../meta/schema-parts.js';
import { pass, refuse, type Verdict } from '../../refusal.js';
import { object, type Infer } from '../../schema/structural.js';
import { given } from '../../units/given.js';
import { formatInstant, parseInstant, type EpochMs } from '../../units/time.js';
import type { AppliesTo, PolicyIdentity, PolicyKind } from '../kind.js';
import { appliesIn, appliesToSchema, createGlance, decideEach } from '../modes.js';

const schema = object(
  'When operations pass, for policyType WINDOW: from, until, or both. Signed data expire when the window ends at the latest.',
  {
    optional: {
      from: instant('Nothing passes before this time, e.g. "2026-12-01T00:00:00Z".'),
      until: instant(
        'Nothing passes from this time on, e.g. "2027-01-01T00:00:00Z"; data that are signed before it expire at it.',
      ),
      appliesTo: appliesToSchema,
    },
  },
  {
    rule: 'has(self.from) || has(self.until)',
    message: 'must be given from, until, or both',
  },
);

type WindowSpec = Infer<typeof schema>;
type WindowConfig = PolicyIdentity & AppliesTo & { readonly from?: EpochMs; readonly until?: EpochMs };
type Windows = { readonly windows?: readonly WindowConfig[] };

/** Limits operations to a time. All active windows of a paymaster have to be open. */
export const window = {
  member: 'window',
  schema,
  most: { count: 10, name: 'windows' },
  problem({ from, until }) {
    for (const [name, text] of Object.entries(given({ from, until })))
      if (parseInstant(text) === undefined)
        return `spec.window.${name} must be an RFC 3339 time, got ${quote(text)}.`;
    if (from === undefined && until === undefined) return 'spec.window must have from, until, or both.';
    if (from !== undefined && until !== undefined && Date.parse(until) <= Date.parse(from))
      return `spec.window.until must be later than from, got ${quote(until)}.`;
    return undefined;
  },
  modesOf: ({ appliesTo = ['SPONSORED'] }) => appliesTo,
  compile: ({ spec: { from, until, appliesTo }, policyId, name }) => ({
    config: {
      policyId,
      name,
      ...given({ from: parseInstant(from ?? ''), until: parseInstant(until ?? ''), appliesTo }),
    },
  }),
  config: {
    write: (windows): Windows => (windows.length === 0 ? {} : { windows }),
    read: ({ windows = [] }, { policyId }) => windows.find((each) => each.policyId === policyId),
    serve: ({ windows }): Windows => (windows === undefined ? {} : { windows }),
  },
  decision: {
    step: 'window',
    modes: ['SPONSORED', 'ERC20'],
    applies: ({ windows }, mode) => windows?.some((each) => appliesIn(each, mode)) === true,
    decide: ({ windows = [] }, facts) => decideEach(windows, facts, (each) => decideWindow(each, facts.now)),
    endsAt({ windows = [] }, mode) {
      const judging = windows.filter((each) => appliesIn(each, mode) && each.shadow !== true);
      const ends = judging.flatMap(({ until }) => until ?? []);
      return ends.length === 0 ? undefined : (Math.min(...ends) as EpochMs);
    },
  },
  glance: ({ windows = [] }, { now }) =>
    windows.map((each) => {
      const turnsAt = [each.from, each.until].find((at) => at !== undefined && now < at);
      return createGlance(each, {
        says: sayWindow(each, now),
        verdict: isOpen(each, now) ? 'pass' : 'refuse',
        ...given({ turnsAt }),
      });
    }),
  record: {
    render: ({ spec }) => ({ ...spec }),
    answer: {
      required: {},
      optional: {
        from: { type: 'string' },
        until: { type: 'string' },
        appliesTo: { type: 'array', items: { enum: ['SPONSORED', 'ERC20'] } },
      },
    },
  },
} as const satisfies PolicyKind<WindowSpec, WindowConfig, Windows, Windows, never>;

function decideWindow(window: WindowConfig, now: EpochMs): Verdict {
  if (isOpen(window, now)) return pass;
  return refuse('WINDOW_CLOSED', `policy "${window.name}": ${sayWindow(window, now)}`);
}

type OpenTimes = Pick<WindowConfig, 'from' | 'until'>;

function isOpen({ from, until }: OpenTimes, now: EpochMs): boolean {
  return (from === undefined || from <= now) && (until === undefined || now < until);
}

function sayWindow({ from, until }: OpenTimes, now: EpochMs): string {
  if (from !== undefined && now < from) return `opens at ${formatInstant(from)}`;
  if (until === undefined) return 'open';
  return `${now < until ? 'open until' : 'ended at'} ${formatInstant(until)}`;
}

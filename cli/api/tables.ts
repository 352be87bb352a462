import { isObject } from '../../core/schema/json-value.js';
import { unitNames, unitRow } from '../../core/usage/units.js';
import type { Request } from './client.js';

// What the tables of lists show: a row for each column. Other members of an answer are in `-o json`.

type Item = Readonly<Record<string, unknown>>;
/** Answers to what a table asks besides; undefined where the token may not ask it, or no ledger is kept. */
export type Beside = Readonly<Record<string, unknown>>;

export type Column = {
  readonly title: string;
  /** A member, `spec.active` one of a member; of a list each item has its say. Or what is made of the item. */
  readonly of: string | ((item: Item, beside: Beside) => unknown);
  /** Shown with `-o wide` alone. */
  readonly isWide: boolean;
};

type TableRow = {
  readonly columns: readonly Column[];
  readonly asks?: (now: Date) => Readonly<Record<string, Pick<Request, 'path' | 'query'>>>;
};

const column = (title: string, of: Column['of']): Column => ({ title, of, isWide: false });
const wide = (title: string, of: Column['of']): Column => ({ title, of, isWide: true });

const made = [wide('ID', 'id'), wide('CREATED BY', 'createdBy'), wide('CREATED', 'createdAt')];
const accounts = [
  column('KIND', 'kind'),
  column('CHAIN', 'chainId'),
  column('BALANCE', 'balance'),
  column('PROMISED', 'promised'),
  column('PER HOUR', 'burnPerHour'),
  column('HOURS LEFT', 'hoursLeft'),
  column('ACCOUNT', 'account'),
];
const rule = [
  column('LEFT', 'remaining'),
  column('RESETS', 'turnsAt'),
  column('VERDICT', 'verdict'),
  column('SAYS', 'says'),
];

export const tables: Readonly<Record<string, TableRow>> = {
  listObjectsPaymaster: {
    asks: (now) => ({
      usage: {
        path: '/usage',
        query: { groupBy: 'paymaster', from: `${now.toISOString().slice(0, 10)}T00:00:00Z` },
      },
      limits: { path: '/limits' },
    }),
    columns: [
      column('NAME', 'name'),
      column('CHAIN', 'spec.chainId'),
      column('VERSION', 'spec.version'),
      column('STATE', describeState),
      column('SPENT TODAY', ({ id }, { usage }) => {
        const rows = listIn(usage, 'items');
        return rows && (rows.find(({ group }) => group === id)?.['spent'] ?? '0');
      }),
      column('NEAREST LIMIT', ({ id }, { limits }) =>
        nearest(listIn(limits, 'items')?.filter(({ paymasterId }) => paymasterId === id)),
      ),
      ...made,
    ],
  },
  listObjectsContract: {
    columns: [
      column('NAME', 'name'),
      column('PAYMASTER', 'spec.paymasterRef.name'),
      column('ADDRESS', 'spec.address'),
      column('STATE', describeState),
      column('METHODS', 'spec.whitelistedMethods'),
      ...made,
    ],
  },
  listObjectsPolicy: {
    columns: [
      column('NAME', 'name'),
      column('PAYMASTER', 'spec.paymasterRef.name'),
      column('STATE', describeState),
      wide('TYPE', 'spec.policyType'),
      ...rule.map(({ of, ...each }) => ({ ...each, of: `rules.${String(of)}` })),
      ...made,
    ],
  },
  listRules: {
    columns: [
      column('NAME', 'name'),
      column('MODE', 'enforcement'),
      column('CAMPAIGN', 'campaign'),
      wide('TYPE', 'policyType'),
      ...rule,
    ],
  },
  listPaymasterKeys: {
    columns: [
      column('NAME', 'name'),
      column('GENERATION', 'generation'),
      column('FINGERPRINT', 'fingerprint'),
      column('EXPIRES', 'expiresAt'),
      column('CAMPAIGN', 'campaign'),
      column('NETWORKS', 'cidrs'),
      wide('RATE', 'rateLimit'),
    ],
  },
  listTokens: {
    columns: [
      column('NAME', 'name'),
      column('SCOPES', 'scopes'),
      column('LAST USED', 'lastUsedAt'),
      column('EXPIRES', 'expiresAt'),
      column('ENDS WITH', 'endsWith'),
      wide('CREATED BY', 'createdBy'),
    ],
  },
  getUsage: {
    columns: [
      column('FROM', 'from'),
      column('GROUP', ({ name, method, group }) => {
        const [contract] = String(group).split(':');
        return name ?? (typeof method === 'string' ? `${contract}.${method}` : group);
      }),
      column('SPONSORED', 'sponsored'),
      column('REFUSED', 'refused'),
      column('MINED', 'mined'),
      column('REVERTED', 'reverted'),
      column('SPENT', 'spent'),
      column('USD', 'spentUsd'),
      wide('ID', 'group'),
    ],
  },
  listDecisions: {
    columns: [
      column('AT', 'at'),
      column('PAYMASTER', ({ paymaster, paymasterId }) => paymaster ?? short(paymasterId)),
      column('VERDICT', 'verdict'),
      column('OUTCOME', ({ settlement, verdict }) =>
        isObject(settlement) ? settlement['outcome'] : verdict === 'sponsored' ? 'open' : null,
      ),
      column('COST', ({ settlement, maxCost }) =>
        isObject(settlement)
          ? settlement['actualGasCost']
          : typeof maxCost === 'string'
            ? `≤ ${maxCost}`
            : null,
      ),
      column('REASON', 'reason'),
      column('SENDER', ({ sender }) => short(sender)),
      wide('ID', 'id'),
      wide('SENDER', 'sender'),
      wide('METHOD', 'method'),
      wide('KEY', 'key'),
    ],
  },
  getLimits: {
    columns: [
      column('NAME', 'name'),
      column('PAYMASTER', 'paymaster'),
      column('FOR', ({ scope }) => (scope === 'PAYMASTER' ? 'all' : 'each account')),
      column('LEFT', (limit) => readFigure(limit, 'remaining')),
      column('OF', formatLimit),
      column('RESETS', 'resetsAt'),
      wide('USED', (limit) => readFigure(limit, 'used')),
      wide('PROMISED', (limit) => readFigure(limit, 'reserved')),
      wide('PAYMASTER ID', 'paymasterId'),
      wide('POLICY ID', 'policy'),
    ],
  },
  listChanges: {
    columns: [
      column('AT', 'at'),
      column('ACTOR', 'actor'),
      column('ACTION', 'action'),
      column('KIND', 'kind'),
      column('NAME', 'name'),
      column('FIELD', 'field'),
      column('BEFORE', 'before'),
      column('AFTER', 'after'),
    ],
  },
  listNotifications: {
    columns: [
      column('NAME', 'name'),
      column('FORMAT', 'format'),
      column('HOST', 'host'),
      column('FAILING SINCE', 'failingSince'),
      column('WHY', 'failure'),
      wide('EVENTS', 'events'),
    ],
  },
  listProblems: { columns: problemColumns() },
  listPlatformProblems: { columns: problemColumns() },
  getFunds: { columns: accounts },
  listPlatformAccounts: { columns: accounts },
  listStatements: {
    columns: [
      column('ACCOUNT', ({ account }) => short(account)),
      column('CHAIN', 'chainId'),
      column('LINE', 'line'),
      column('PAYMASTER', 'paymaster'),
      column('AMOUNT', 'amount'),
      column('USD', 'usd'),
      column('COUNT', 'count'),
      column('NOTE', 'note'),
      wide('ACCOUNT', 'account'),
    ],
  },
  listPlatformLosses: {
    columns: ['chainId', 'version', 'contract', 'lost', 'budget', 'until'].map((name) =>
      column(name === 'chainId' ? 'CHAIN' : name.toUpperCase(), name),
    ),
  },
};

function problemColumns(): readonly Column[] {
  return [
    column('SEVERITY', 'severity'),
    column('RESOURCE', ({ noun, displayName }) => `${String(noun)} ${String(displayName)}`),
    column('PROBLEM', ({ message, meaning }) => message || meaning),
    wide('SINCE', 'since'),
    wide('CHECK', 'check'),
    wide('FIX', 'remedy'),
  ];
}

/** What a person asks first: does it work, and if not, why. */
function describeState({ spec, status }: Item): string | null {
  const { suspended, active, enforcement } = isObject(spec) ? spec : {};
  if (suspended === true) return 'suspended';
  if (active === false) return 'paused';
  if (!isObject(status)) return null;
  const conditions = listIn(status, 'conditions') ?? [];
  for (const wanted of ['Ready', 'Serving']) {
    const found = conditions.find(({ type }) => type === wanted);
    if (found === undefined && wanted === 'Ready') return 'new';
    if (found !== undefined && found['status'] !== 'True') return String(found['reason']);
  }
  return enforcement === 'Shadow' ? 'shadow' : 'ready';
}

/** The one of the known ones of which the smallest part is left. */
function nearest(limits: readonly Item[] | undefined): string | null {
  const part = ({ remaining, threshold }: Item) => Number(remaining) / Number(threshold);
  const [first] = (limits ?? [])
    .filter(({ remaining, threshold }) => remaining !== null && Number(threshold) > 0)
    .toSorted((a, b) => part(a) - part(b));
  return first === undefined
    ? null
    : `${String(readFigure(first, 'remaining'))} of ${formatLimit(first)} left (${String(first['name'])})`;
}

/** In coins or dollars where it is not counted one by one. */
function readFigure({ rendered, ...limit }: Item, name: string): unknown {
  return isObject(rendered) ? rendered[name] : limit[name];
}

/** As people say it: `100 operations`, `0.5 ether`. */
function formatLimit(limit: Item): string {
  const unit = unitNames.find((name) => name === limit['unit']);
  const threshold = String(readFigure(limit, 'threshold'));
  if (unit === undefined) return threshold;
  const { noun, decimals } = unitRow(unit);
  return `${threshold} ${threshold === '1' && decimals === 0 ? noun.slice(0, -1) : noun}`;
}

/** Enough of an address or an id to recognise it; `-o wide` has the whole. */
function short(address: unknown): unknown {
  const isLong = typeof address === 'string' && address.length > 12;
  return isLong ? `${address.slice(0, 6)}…${address.slice(-4)}` : address;
}

function listIn(data: unknown, name: string): readonly Item[] | undefined {
  const list = isObject(data) ? data[name] : undefined;
  return Array.isArray(list) ? list.filter(isObject) : undefined;
}

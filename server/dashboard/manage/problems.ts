import { eachObject } from '../../../adapters/resources/pages.js';
import { derivePaymasterId, derivePolicyId } from '../../../core/config/ids.js';
import { isDomainError } from '../../../core/errors.js';
import type { UsageRow } from '../../../core/ledger/query.js';
import { contractsInShadow } from '../../../core/policy/shadow.js';
import {
  inOrder,
  createLimited,
  problem,
  listProblems,
  shadowProblems,
  type Problem,
  type Around,
} from '../../../core/problems/problems.js';
import { problemExample, problemSchema, renderProblem } from '../../../core/problems/render.js';
import type { Paymaster } from '../../../core/resources/paymaster.js';
import { plusMs, type EpochMs } from '../../../core/units/time.js';
import type { Principal } from '../auth.js';
import type { Reply } from '../call.js';
import type { Tools } from '../deps.js';
import { endpoint } from '../endpoint.js';
import { listSchema, showsOne, wholeList } from '../shape.js';
import { byAge } from '../views.js';

/** More than anybody reads. */
const maxProblems = 500;
/** Among so many the gravest are looked for. */
const maxFound = 5_000;

export const problemsAnswer = {
  schema: listSchema(problemSchema, {
    complete: {
      type: 'boolean',
      description: `False: there are more than ${maxProblems}; the gravest are answered.`,
    },
  }),
  example: { ...wholeList([problemExample]), complete: true },

  async of(tools: Tools, whose: Whose): Promise<Reply> {
    const found: Problem[] = [];
    for await (const each of findProblems(tools, whose)) if (found.push(each) > maxFound) break;
    const problems = inOrder(found).slice(0, maxProblems).map(renderProblem);
    return { data: { ...wholeList(problems), complete: found.length <= maxProblems } };
  },
};

export const problemsEndpoint = endpoint({
  operationId: 'listProblems',
  summary: 'What is wrong with the objects of the organisation and the chains that it uses',
  method: 'get',
  path: '/problems',
  scope: 'organisation',
  needs: ['read', 'stop'],
  cost: 'list',
  ...showsOne(problemsAnswer),
  handle: (tools, { principal }) => problemsAnswer.of(tools, principal),
});

const [minuteMs, dayMs] = [60_000, 86_400_000];
/** Each takes a question to the ledger: what lists of contracts would refuse is told apart by nothing else. */
const maxLists = 20;
/** Two days of as many policies. */
const maxRows = 20_000;

export type Whose = Pick<Principal, 'organisation' | 'namespace' | 'tenant'>;

/**
 * What is wrong with the objects of an organisation and with the chains that it uses. Nothing of other organisations is read, and of the
 * platform's objects no message is shown.
 */
async function* findProblems(tools: Tools, principal: Whose): AsyncGenerator<Problem> {
  const { resources, clock } = tools;
  const { namespace, organisation, tenant } = principal;
  const limited = createLimited();
  limited.add(organisation);
  const uses = new Map<number, Set<string>>();
  const around: Around = { now: clock.now(), limited, uses };
  /** What is in Shadow, by its paymaster: policyId and name. */
  const shadowed = new Map<string, Map<string, string>>();
  const ensureShadow = (paymaster: string): Map<string, string> => {
    const known = shadowed.get(paymaster) ?? new Map<string, string>();
    shadowed.set(paymaster, known);
    return known;
  };

  for await (const policy of eachObject(resources, 'PaymasterPolicy', { namespace })) {
    const { metadata, spec } = policy;
    limited.add(policy);
    if (spec.enforcement === 'Shadow' && spec.active !== false)
      ensureShadow(spec.paymasterRef.name).set(derivePolicyId(tenant, metadata.name), spec.name);
    yield* listProblems(policy, around);
  }
  const inShadow: Paymaster[] = [];
  for await (const paymaster of eachObject(resources, 'Paymaster', { namespace })) {
    const { chainId, version, contractsEnforcement } = paymaster.spec;
    if (organisation.spec.chains?.includes(chainId) !== false)
      uses.set(chainId, (uses.get(chainId) ?? new Set()).add(version));
    if (contractsEnforcement === 'Shadow') ensureShadow(paymaster.metadata.name);
    if (shadowed.has(paymaster.metadata.name)) inShadow.push(paymaster);
    yield* listProblems(paymaster, around);
  }
  for await (const contract of eachObject(resources, 'SmartContract', { namespace }))
    yield* listProblems(contract, around);
  yield* listProblems(organisation, around);
  yield* problemsOfChains(tools, around, uses);
  yield* ofShadow(tools, principal, inShadow, ensureShadow);
}

/** What is wrong with chains that are used. Of two Chains with one id the older one counts. */
export async function* problemsOfChains(
  { resources }: Pick<Tools, 'resources'>,
  around: Around,
  uses: ReadonlyMap<number, unknown>,
): AsyncGenerator<Problem> {
  const seen = new Set<number>();
  for (const chain of byAge(await resources.list('Chain'))) {
    const { chainId } = chain.spec;
    if (!uses.has(chainId) || seen.has(chainId)) continue;
    seen.add(chainId);
    yield* listProblems(chain, around);
  }
  for (const token of await resources.list('FeeToken'))
    if (uses.has(token.spec.chainId)) yield* listProblems(token, around);
}

async function* ofShadow(
  { ledger, clock }: Pick<Tools, 'ledger' | 'clock'>,
  { tenant, namespace, organisation }: Whose,
  paymasters: readonly Paymaster[],
  namesOf: (paymaster: string) => ReadonlyMap<string, string>,
): AsyncGenerator<Problem> {
  if (ledger === undefined) return;
  const to = (Math.ceil(clock.now() / minuteMs) * minuteMs) as EpochMs;
  const range = { from: plusMs(to, -dayMs), to, step: 'day', limit: maxRows } as const;
  const questions = ledger(tenant);
  const usage = (paymasterId: string | undefined, groupBy: 'paymaster' | 'wouldRefuse') =>
    questions.usage({ organisation: tenant, paymasterId, groupBy, ...range });
  try {
    // Asked also where nothing is in Shadow: without the database nothing is signed.
    const sponsored = sumByGroup(await usage(undefined, 'paymaster'));
    if (paymasters.length === 0) return;
    const wouldRefuse = await usage(undefined, 'wouldRefuse');
    const readPaymasterId = ({ metadata }: Paymaster): string => derivePaymasterId(tenant, metadata.name);
    const sponsoredBy = (paymaster: Paymaster): number => sponsored.get(readPaymasterId(paymaster)) ?? 0;
    const problemsOfRows = (paymaster: Paymaster, rows: typeof wouldRefuse): readonly Problem[] => {
      const { metadata, spec } = paymaster;
      const of = { namespace, name: metadata.name, displayName: spec.name };
      return shadowProblems(of, rows, sponsoredBy(paymaster), namesOf(metadata.name));
    };
    const byPolicy = Map.groupBy(wouldRefuse, ({ group = '' }) => group);
    for (const paymaster of paymasters) {
      const policies = [...namesOf(paymaster.metadata.name).keys()];
      yield* problemsOfRows(
        paymaster,
        policies.flatMap((id) => byPolicy.get(id) ?? []),
      );
    }
    if (!byPolicy.has(contractsInShadow)) return;
    const lists = paymasters
      .filter(({ spec }) => spec.contractsEnforcement === 'Shadow')
      .toSorted((a, b) => sponsoredBy(b) - sponsoredBy(a));
    for (const paymaster of lists.slice(0, maxLists)) {
      const rows = await usage(readPaymasterId(paymaster), 'wouldRefuse');
      yield* problemsOfRows(
        paymaster,
        rows.filter(({ group }) => group === contractsInShadow),
      );
    }
    const { name } = organisation.metadata;
    if (lists.length > maxLists)
      yield problem(
        'shadow-unread',
        { kind: 'Organisation', name, displayName: name },
        `Looked at: the ${maxLists} busiest of ${lists.length}.`,
      );
  } catch (error) {
    if (!isDomainError(error, 'UNAVAILABLE')) throw error;
    yield problem('database-away', { kind: 'Installation', name: 'database', displayName: 'database' });
  }
}

function sumByGroup(rows: readonly Pick<UsageRow, 'group' | 'sponsored'>[]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const { group = '', sponsored } of rows) sums.set(group, (sums.get(group) ?? 0) + sponsored);
  return sums;
}

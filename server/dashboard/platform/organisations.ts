import { eachObject } from '../../../adapters/resources/pages.js';
import { listBudgets } from '../../../core/config/budgets.js';
import { deriveOrganisationId } from '../../../core/config/ids.js';
import { tenantOfOrganisation } from '../../../core/config/tenant.js';
import { DomainError, isDomainError, quote } from '../../../core/errors.js';
import { findCondition } from '../../../core/meta/conditions.js';
import { problemsAmong } from '../../../core/problems/problems.js';
import { problemsSchema, renderProblem } from '../../../core/problems/render.js';
import type { Organisation } from '../../../core/resources/organisation.js';
import type { ResourceStore } from '../../../core/resources/resource-store.js';
import { validateName } from '../../../core/resources/validate.js';
import { arrayOf, record } from '../../../core/schema/json-schema.js';
import { given as definedOnly } from '../../../core/units/given.js';
import type { EpochMs } from '../../../core/units/time.js';
import { endpoint } from '../endpoint.js';
import { count, time } from '../ledger/schemas.js';
import { pageParameters } from '../lists.js';
import { problemsAnswer } from '../manage/problems.js';
import { integer } from '../parameters.js';
import { chainId, text, uuid } from '../record-schemas.js';
import { about, shapeOf, showsList, showsOne } from '../shape.js';

type Shown = Organisation & {
  readonly paymasters: Awaited<ReturnType<typeof countPaymasters>>;
  readonly now: EpochMs;
};

const organisationShape = shapeOf<Shown>()({
  name: [text, 'acme', ({ metadata }) => metadata.name],
  namespace: [text, 'team-a', ({ spec }) => spec.namespace],
  organisationId: [
    uuid,
    '0f8fad5b-d9cb-569f-a165-70867728950e',
    (organisation) => deriveOrganisationId(tenantOfOrganisation(organisation)),
  ],
  createdAt: [time, '2026-01-01T00:00:00Z', ({ metadata }) => metadata.creationTimestamp],
  chains: [
    { type: ['array', 'null'], items: chainId, description: 'That it may use; null: all.' },
    null,
    ({ spec }) => spec.chains,
  ],
  tokens: [about(count, 'That the platform grants.'), 1, ({ spec }) => spec.tokens?.length ?? 0],
  budgets: [
    arrayOf({ type: 'object' }, '`spec.budgets` of the Organisation.'),
    [{ name: 'month', chain: 31337, usd: '500', calendar: { every: 'month', timeZone: 'UTC' } }],
    listBudgets,
  ],
  paymasters: [
    {
      ...record({ total: count, ready: count, suspended: count }),
      type: ['object', 'null'],
      description: 'Null while the dashboard cannot read the namespace.',
    },
    { total: 12, ready: 11, suspended: 1 },
  ],
  problems: [
    about(problemsSchema, 'Of the Organisation itself.'),
    [],
    (shown) => problemsAmong([shown], shown.now).map(renderProblem),
  ],
});

export const platformOrganisations = endpoint({
  operationId: 'listPlatformOrganisations',
  summary: 'All organisations, with their paymasters in numbers and what is wrong with themselves',
  method: 'get',
  path: '/platform/organisations',
  scope: 'platform',
  cost: 'list',
  parameters: {
    limit: integer('Records of a page. Default 20.', 1, 100),
    cursor: pageParameters.cursor,
  },
  ...showsList(organisationShape),

  async handle({ resources, clock }, { given: { limit = 20, cursor } }) {
    const { items, next = null } = await resources.page('Organisation', {
      limit,
      ...definedOnly({ after: cursor }),
    });
    const records: string[] = [];
    for (const organisation of items) {
      const paymasters = await countPaymasters(resources, organisation.spec.namespace);
      const shown = organisationShape.render({ ...organisation, paymasters, now: clock.now() });
      records.push(JSON.stringify(shown));
    }
    return { list: { records, cursor: next } };
  },
});

/** An Organisation whose namespace is not there, or gives the dashboard no access, hides no other one. */
async function countPaymasters(resources: Pick<ResourceStore, 'page'>, namespace: string) {
  let [total, ready, suspended] = [0, 0, 0];
  try {
    for await (const { spec, status } of eachObject(resources, 'Paymaster', { namespace })) {
      total += 1;
      if (findCondition(status?.conditions, 'Ready')?.status === 'True') ready += 1;
      if (spec.suspended === true) suspended += 1;
    }
  } catch (error) {
    if (isDomainError(error)) return null;
    throw error;
  }
  return { total, ready, suspended };
}

export const platformProblems = endpoint({
  operationId: 'listPlatformProblems',
  summary: 'What of an organisation is not as it should be, as its own tokens see it',
  method: 'get',
  path: '/platform/organisations/:name/problems',
  scope: 'platform',
  cost: 'list',
  ...showsOne(problemsAnswer),

  async handle(tools, { params: { name = '' } }) {
    const isName = validateName('Organisation', { name }).length === 0;
    const organisation = isName ? await tools.resources.get('Organisation', { name }) : undefined;
    if (organisation === undefined)
      throw new DomainError('NOT_FOUND', `No organisation is called ${quote(name)}`);
    const { namespace } = organisation.spec;
    return problemsAnswer.of(tools, { organisation, namespace, tenant: tenantOfOrganisation(organisation) });
  },
});

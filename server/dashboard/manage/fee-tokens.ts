import { DomainError } from '../../../core/errors.js';
import { findCondition } from '../../../core/meta/conditions.js';
import { createLimited, listProblems } from '../../../core/problems/problems.js';
import { problemExample, problemsSchema, renderProblem } from '../../../core/problems/render.js';
import type { FeeToken } from '../../../core/resources/fee-token.js';
import { arrayOf } from '../../../core/schema/json-schema.js';
import type { EpochMs } from '../../../core/units/time.js';
import { endpoint } from '../endpoint.js';
import { findChain } from '../paymasters.js';
import { address, exampleAddress, text } from '../record-schemas.js';
import { about, listSchema, shapeOf, wholeList } from '../shape.js';
import { byAge } from '../views.js';

type Shown = FeeToken & { readonly now: EpochMs };

const tokenShape = shapeOf<Shown>()({
  name: [about(text, 'Name of the FeeToken object.'), 'usdc-dev', ({ metadata }) => metadata.name],
  symbol: [text, 'USDC', ({ spec }) => spec.symbol],
  address: [address, exampleAddress, ({ spec }) => spec.address],
  decimals: [{ type: 'integer', minimum: 0 }, 6, ({ spec }) => spec.decimals],
  premiumPercentage: [about(text, 'Added to the price.'), '5', ({ spec }) => spec.premiumPercentage ?? '0'],
  priceSource: [
    about(text, 'Kind of the source, e.g. chainlink.'),
    'chainlink',
    ({ spec }) => Object.keys(spec.price).join(),
  ],
  isUsable: [
    { type: 'boolean', description: 'False: payments in it are refused now.' },
    false,
    ({ status }) =>
      (['Ready', 'PriceUsable'] as const).every(
        (type) => findCondition(status?.conditions, type)?.status === 'True',
      ),
  ],
  problems: [
    problemsSchema,
    [problemExample],
    // As an organisation sees them: a message may name the host of a price source, which belongs to the platform.
    (token) =>
      listProblems(token, { now: token.now, limited: createLimited(), uses: new Map() }).map(renderProblem),
  ],
});

export const feeTokensEndpoint = endpoint({
  operationId: 'listFeeTokens',
  summary:
    'Tokens in which accounts may pay on a chain, where their price is from, and whether they may be used now',
  method: 'get',
  path: '/chains/:chainId/tokens',
  scope: 'organisation',
  needs: ['read', 'finance'],
  schema: listSchema(tokenShape.schema, {
    versions: arrayOf(text, 'Of paymasters that take tokens on this chain.'),
  }),
  example: { versions: ['1.1.0'], ...wholeList([tokenShape.example]) },

  async handle(tools, { principal, params: { chainId = '' } }) {
    const { chains } = principal.organisation.spec;
    const id = /^[1-9]\d{0,15}$/.test(chainId) ? Number(chainId) : 0;
    const isAllowed = id > 0 && chains?.includes(id) !== false;
    const chain = isAllowed ? await findChain(tools, id) : undefined;
    if (chain === undefined) throw new DomainError('NOT_FOUND', 'The organisation may use no such chain');
    const feeTokens = await tools.resources.list('FeeToken', { fields: { 'spec.chainId': String(id) } });
    return {
      data: {
        versions: chain.profiles
          .filter(({ addresses }) => addresses.token !== undefined)
          .map(({ version }) => version),
        ...wholeList(
          byAge(feeTokens).map((token) => tokenShape.render({ ...token, now: tools.clock.now() })),
        ),
      },
    };
  },
});

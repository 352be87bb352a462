import { DomainError } from '../../../core/errors.js';
import type { ConditionType } from '../../../core/meta/condition-reasons.js';
import { findCondition } from '../../../core/meta/conditions.js';
import { createLimited } from '../../../core/problems/limited.js';
import { problemsOf } from '../../../core/problems/problems.js';
import { problemExample, problemsSchema, renderProblem } from '../../../core/problems/render.js';
import type { FeeToken } from '../../../core/resources/fee-token.js';
import { arrayOf, record } from '../../../core/schema/json-schema.js';
import type { EpochMs } from '../../../core/units/time.js';
import { endpoint } from '../endpoint.js';
import { findChain } from '../paymasters.js';
import { address, exampleAddress, text } from '../record-schemas.js';
import { byAge } from '../views.js';

export const feeTokensEndpoint = endpoint({
  operationId: 'listFeeTokens',
  summary:
    'Tokens in which accounts may pay on a chain, where their price is from, and whether they may be used now',
  method: 'get',
  path: '/chains/:chainId/tokens',
  scope: 'organisation',
  needs: ['read'],
  schema: record({
    versions: { ...arrayOf(text), description: 'Of paymasters that take tokens on this chain.' },
    tokens: arrayOf(
      record({
        name: { ...text, description: 'Name of the FeeToken object.' },
        symbol: text,
        address,
        decimals: { type: 'integer', minimum: 0 },
        premiumPercentage: { ...text, description: 'Added to the price.' },
        priceSource: { ...text, description: 'Kind of the source, e.g. chainlink.' },
        isUsable: { type: 'boolean', description: 'False: payments in it are refused now.' },
        problems: problemsSchema,
      }),
    ),
  }),
  example: {
    versions: ['1.1.0'],
    tokens: [
      {
        name: 'usdc-dev',
        symbol: 'USDC',
        address: exampleAddress,
        decimals: 6,
        premiumPercentage: '5',
        priceSource: 'chainlink',
        isUsable: false,
        problems: [problemExample],
      },
    ],
  },

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
        tokens: byAge(feeTokens).map((token) => viewOf(token, tools.clock.now())),
      },
    };
  },
});

function viewOf(token: FeeToken, now: EpochMs) {
  const { metadata, spec, status } = token;
  const { symbol, decimals, premiumPercentage = '0', price } = spec;
  const is = (type: ConditionType): boolean => findCondition(status?.conditions, type)?.status === 'True';
  return {
    name: metadata.name,
    symbol,
    address: spec.address,
    decimals,
    premiumPercentage,
    priceSource: Object.keys(price).join(),
    isUsable: is('Ready') && is('PriceUsable'),
    // As to an organisation: a message may name the host of a price source, which is the platform's.
    problems: problemsOf(token, { now, limited: createLimited(), uses: new Map() }).map(renderProblem),
  };
}

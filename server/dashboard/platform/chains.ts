import { findCondition } from '../../../core/meta/conditions.js';
import { createLimited } from '../../../core/problems/limited.js';
import { problemsOf } from '../../../core/problems/problems.js';
import { problemExample, problemsSchema, renderProblem } from '../../../core/problems/render.js';
import type { Chain } from '../../../core/resources/chain.js';
import type { Cursor } from '../../../core/usage/follower-step.js';
import { arrayOf, record } from '../../../core/schema/json-schema.js';
import { formatInstant, toMs, type EpochMs } from '../../../core/units/time.js';
import { endpoint } from '../endpoint.js';
import { textOrNull, timeOrNull } from '../ledger/schemas.js';
import { chainId, text } from '../record-schemas.js';
import { byAge } from '../views.js';

export const platformChains = endpoint({
  operationId: 'listPlatformChains',
  summary: 'All chains: whether each is followed, how far behind, and what is wrong with it and its versions',
  method: 'get',
  path: '/platform/chains',
  scope: 'platform',
  cost: 'list',
  schema: record({
    chains: arrayOf(
      record({
        chainId,
        name: text,
        suspended: { type: 'boolean' },
        following: { ...textOrNull, description: 'Reason of condition Following; null: not looked at yet.' },
        settledBlock: {
          type: ['integer', 'null'],
          description: 'Up to which mined operations are settled; null: the chain was never followed.',
        },
        settledBlockAt: { ...timeOrNull, description: 'Time of that block, by the chain.' },
        lagSeconds: {
          type: ['integer', 'null'],
          minimum: 0,
          description: 'Age of that block. A chain without new blocks lags too.',
        },
        versions: arrayOf(text),
        problems: { ...problemsSchema, description: 'Of the chain and its versions.' },
      }),
    ),
  }),
  example: {
    chains: [
      {
        chainId: 31337,
        name: 'dev',
        suspended: false,
        following: 'Following',
        settledBlock: 1234,
        settledBlockAt: '2026-01-01T00:00:00Z',
        lagSeconds: 12,
        versions: ['1.1.0'],
        problems: [problemExample],
      },
    ],
  },

  async handle({ resources, usage, clock }) {
    const chains = byAge(await resources.list('Chain'));
    const rendered = chains.map(async (chain) =>
      viewOf(chain, await usage.cursor(chain.spec.chainId), clock.now()),
    );
    return { data: { chains: await Promise.all(rendered) } };
  },
});

function viewOf(chain: Chain, cursor: Cursor | undefined, now: EpochMs) {
  const { metadata, spec, status } = chain;
  const at = cursor && toMs(cursor.timestamp);
  return {
    chainId: spec.chainId,
    name: metadata.name,
    suspended: spec.suspended === true,
    following: findCondition(status?.conditions, 'Following')?.reason ?? null,
    settledBlock: cursor?.blockNumber ?? null,
    settledBlockAt: at === undefined ? null : formatInstant(at),
    lagSeconds: at === undefined ? null : Math.max(0, Math.floor((now - at) / 1000)),
    versions: spec.profiles.map(({ version }) => version),
    problems: problemsOf(chain, { now, limited: createLimited() }).map(renderProblem),
  };
}

import { findCondition } from '../../../core/meta/conditions.js';
import { problemsAmong } from '../../../core/problems/problems.js';
import { problemExample, problemsSchema, renderProblem } from '../../../core/problems/render.js';
import type { Chain } from '../../../core/resources/chain.js';
import { arrayOf } from '../../../core/schema/json-schema.js';
import { toMs, type EpochMs } from '../../../core/units/time.js';
import type { Cursor } from '../../../core/usage/follower-step.js';
import { endpoint } from '../endpoint.js';
import { countOrNull, integerOrNull, textOrNull, timeOrNull } from '../ledger/schemas.js';
import { chainId, text } from '../record-schemas.js';
import { about, shapeOf, showsList, wholeList } from '../shape.js';
import { byAge } from '../views.js';

type Followed = Chain & { readonly cursor: Cursor | undefined; readonly now: EpochMs };

const chainShape = shapeOf<Followed>()({
  chainId: [chainId, 31337, ({ spec }) => spec.chainId],
  name: [text, 'dev', ({ metadata }) => metadata.name],
  suspended: [{ type: 'boolean' }, false, ({ spec }) => spec.suspended === true],
  following: [
    about(textOrNull, 'Reason of condition Following; null: not looked at yet.'),
    'Following',
    ({ status }) => findCondition(status?.conditions, 'Following')?.reason,
  ],
  settledBlock: [
    about(integerOrNull, 'Up to which mined operations are settled; null: the chain was never followed.'),
    1234,
    ({ cursor }) => cursor?.blockNumber,
  ],
  settledBlockAt: [
    about(timeOrNull, 'Time of that block, by the chain.'),
    '2026-01-01T00:00:00Z',
    ({ cursor }) => cursor && toMs(cursor.timestamp),
  ],
  lagSeconds: [
    about(countOrNull, 'Age of that block. A chain without new blocks lags too.'),
    12,
    ({ cursor, now }) => cursor && Math.max(0, Math.floor((now - toMs(cursor.timestamp)) / 1000)),
  ],
  versions: [arrayOf(text), ['1.1.0'], ({ spec }) => spec.profiles.map(({ version }) => version)],
  problems: [
    about(problemsSchema, 'Of the chain and its versions.'),
    [problemExample],
    (chain) => problemsAmong([chain], chain.now).map(renderProblem),
  ],
});

export const platformChains = endpoint({
  operationId: 'listPlatformChains',
  summary: 'All chains: whether each is followed, how far behind, and what is wrong with it and its versions',
  method: 'get',
  path: '/platform/chains',
  scope: 'platform',
  cost: 'list',
  ...showsList(chainShape),

  async handle({ resources, usage, clock }) {
    const chains = byAge(await resources.list('Chain'));
    const rendered = chains.map(async (chain) =>
      chainShape.render({ ...chain, cursor: await usage.cursor(chain.spec.chainId), now: clock.now() }),
    );
    return { data: wholeList(await Promise.all(rendered)) };
  },
});

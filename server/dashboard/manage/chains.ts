import { entryPointVersion } from '../../../core/entry-point/address.js';
import { entryPointVersions } from '../../../core/entry-point/version.js';
import type { Chain } from '../../../core/resources/chain.js';
import { arrayOf, record } from '../../../core/schema/json-schema.js';
import { endpoint } from '../endpoint.js';
import { textOrNull } from '../ledger/schemas.js';
import { address, chainId, exampleAddress, text } from '../record-schemas.js';
import { about, shapeOf, showsList, wholeList } from '../shape.js';
import { byAge } from '../views.js';

const entryPointText = `Its version, of ${entryPointVersions.join(', ')}; the address of another one.`;

const chainShape = shapeOf<Chain>()({
  chainId: [chainId, 31337, ({ spec }) => spec.chainId],
  name: [text, 'dev', ({ metadata }) => metadata.name],
  symbol: [about(text, 'Of the native coin.'), 'ETH', ({ spec }) => spec.nativeCurrency.symbol],
  explorer: [
    about(textOrNull, 'Block explorer: address/ADDRESS, tx/HASH and block/NUMBER are below it.'),
    'https://basescan.org',
    ({ spec }) => spec.explorer?.replace(/\/$/, ''),
  ],
  suspended: [
    { type: 'boolean', description: 'True: nothing is signed on it.' },
    false,
    ({ spec }) => spec.suspended === true,
  ],
  versions: [
    arrayOf(record({ version: text, entryPoint: about(text, entryPointText), address })),
    [{ version: '1.1.0', entryPoint: entryPointVersions[0], address: exampleAddress }],
    ({ spec }) =>
      spec.profiles.map(({ version, entryPoint, addresses }) => ({
        version,
        entryPoint: entryPointVersion(entryPoint) ?? entryPoint,
        address: addresses.sponsorship,
      })),
  ],
});

export const chainsEndpoint = endpoint({
  operationId: 'listChains',
  summary: 'Chains that the organisation may use, with the versions of paymasters that each offers',
  method: 'get',
  path: '/chains',
  scope: 'organisation',
  needs: ['read', 'finance'],
  ...showsList(chainShape),

  async handle({ resources }, { principal }) {
    const { chains: allowed } = principal.organisation.spec;
    const chains = byAge(await resources.list('Chain')).filter(
      ({ spec }) => allowed === undefined || allowed.includes(spec.chainId),
    );
    // Of two Chains with one id only the older one counts.
    const older = new Map(chains.toReversed().map((chain) => [chain.spec.chainId, chain]));
    return { data: wholeList([...older.values()].toReversed().map(chainShape.render)) };
  },
});

import { entryPointVersions } from '../../../core/entry-point/version.js';
import { arrayOf, record } from '../../../core/schema/json-schema.js';
import { endpoint } from '../endpoint.js';
import { address, chainId, exampleAddress, text } from '../record-schemas.js';
import { byAge } from '../views.js';

export const chainsEndpoint = endpoint({
  operationId: 'listChains',
  summary: 'Chains that the organisation may use, with the versions of paymasters that each offers',
  method: 'get',
  path: '/chains',
  scope: 'organisation',
  needs: ['read'],
  schema: record({
    chains: arrayOf(
      record({
        chainId,
        name: text,
        symbol: { ...text, description: 'Of the native coin.' },
        suspended: { type: 'boolean', description: 'True: nothing is signed on it.' },
        versions: arrayOf(record({ version: text, entryPoint: { enum: entryPointVersions }, address })),
      }),
    ),
  }),
  example: {
    chains: [
      {
        chainId: 31337,
        name: 'dev',
        symbol: 'ETH',
        suspended: false,
        versions: [{ version: '1.1.0', entryPoint: entryPointVersions[0], address: exampleAddress }],
      },
    ],
  },

  async handle({ resources }, { principal }) {
    const { chains: allowed } = principal.organisation.spec;
    const chains = byAge(await resources.list('Chain'))
      .filter(({ spec }) => allowed === undefined || allowed.includes(spec.chainId))
      .map(({ metadata, spec }) => ({
        chainId: spec.chainId,
        name: metadata.name,
        symbol: spec.nativeCurrency.symbol,
        suspended: spec.suspended === true,
        versions: spec.profiles.map(({ version, entryPoint, addresses }) => ({
          version,
          entryPoint,
          address: addresses.sponsorship,
        })),
      }));
    // Of two Chains with one id only the older one counts.
    return {
      data: {
        chains: [
          ...new Map(chains.toReversed().map((chain) => [chain.chainId, chain])).values(),
        ].toReversed(),
      },
    };
  },
});

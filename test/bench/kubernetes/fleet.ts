import { deriveApiKey } from '../../../core/config/api-key.js';
import { kindNames, type Kind } from '../../../core/resources/kinds.js';
import { apiVersion, group } from '../../../core/meta/meta.js';
import type { SmartContract } from '../../../core/resources/smart-contract.js';
import type { Cluster } from '../../support/cluster/cluster.js';
import { inParallel } from './in-parallel.js';

/**
 * The paymasters of the bench: each with one contract and two spending limits, as users would write them. They belong to
 * ten organisations, so that at 10,000 each namespace holds a thousand.
 */
export type Fleet = {
  /** Creates the organisations, each with a quota for its part of so many paymasters; once, before the first paymaster. */
  found(paymasters: number): Promise<void>;
  /** Creates paymasters `from` up to, not including, `to`, with all that belongs to them. */
  create(from: number, to: number): Promise<void>;
  change(index: number, change: Change): Promise<void>;
  apiKey(index: number): string;
  nameOf(index: number): string;
  /** For the paymaster with this object name. */
  indexOf(name: string): number;
  readonly chainId: number;
  readonly sponsoredContract: { readonly address: string };
};

/** What is changed about a paymaster: whether its contract's method is whitelisted, or its limit lets anything through. */
export type Change = { readonly of: 'whitelist' | 'limit'; readonly isOpen: boolean };

export const objectsPerPaymaster = 4;
export const organisations = 10;
const atOnce = 32;

const whitelists = { open: ['increment'], closed: ['burn'] } as const;
const thresholds = { open: '1.0', closed: '0' } as const;

export function createFleet(cluster: Cluster, chainId: number, template: SmartContract): Fleet {
  const { transport, masterKeys } = cluster;
  const { abi, address } = template.spec;

  async function create(path: string, body: object): Promise<void> {
    await transport.request({ method: 'POST', path, body });
  }

  function objectsOf(index: number): readonly (readonly [Kind, string, object])[] {
    const name = nameOf(index);
    const paymasterRef = { name };
    const policyType = 'PAYMASTER_SA_LIMIT';
    const cycleDuration = { value: 1, unit: 'day' };
    return [
      ['Paymaster', name, { name, chainId, type: 'HYBRID', version: '1.1.0', defaultContractAction: 'Deny' }],
      [
        'SmartContract',
        name,
        { paymasterRef, name: 'counter', address, abi, whitelistedMethods: whitelists.open },
      ],
      [
        'PaymasterPolicy',
        `${name}-count`,
        {
          paymasterRef,
          name: 'operations per day',
          policyType,
          spendingLimit: {
            scope: 'PAYMASTER',
            cycleDuration,
            threshold: '1000000',
            thresholdType: 'COUNT',
          },
        },
      ],
      [
        'PaymasterPolicy',
        `${name}-gas`,
        {
          paymasterRef,
          name: 'gas per user and day',
          policyType,
          spendingLimit: {
            scope: 'SMART_ACCOUNT',
            cycleDuration,
            threshold: thresholds.open,
            thresholdType: 'NATIVE_ASSET',
          },
        },
      ],
    ];
  }

  return {
    chainId,
    sponsoredContract: { address },
    async found(paymasters) {
      for (let index = 0; index < organisations; index += 1) {
        const namespace = namespaceOf(index);
        await create('/api/v1/namespaces', {
          apiVersion: 'v1',
          kind: 'Namespace',
          metadata: { name: namespace, labels: { [`${group}/organisation`]: 'true' } },
        });
        await create(
          `/apis/${apiVersion}/${kindNames.Organisation.plural}`,
          benchOrganisation(index, paymasters),
        );
      }
    },
    async create(from, to) {
      const indexes = Array.from({ length: to - from }, (_, offset) => from + offset);
      await inParallel(indexes, atOnce / objectsPerPaymaster, (index) =>
        Promise.all(
          objectsOf(index).map(([kind, name, spec]) =>
            create(collectionOf(kind, index), { apiVersion, kind, metadata: { name }, spec }),
          ),
        ),
      );
    },
    async change(index, { of, isOpen }) {
      const state = isOpen ? 'open' : 'closed';
      const [kind, name, spec] =
        of === 'whitelist'
          ? (['SmartContract', nameOf(index), { whitelistedMethods: whitelists[state] }] as const)
          : ([
              'PaymasterPolicy',
              `${nameOf(index)}-gas`,
              { spendingLimit: { threshold: thresholds[state] } },
            ] as const);
      await transport.request({
        method: 'PATCH',
        path: `${collectionOf(kind, index)}/${name}`,
        contentType: 'application/merge-patch+json',
        body: { spec },
      });
    },
    nameOf,
    indexOf: (name) => Number(name.slice(prefix.length)),
    apiKey: (index) =>
      deriveApiKey(masterKeys.current, {
        namespace: namespaceOf(index),
        name: nameOf(index),
        keyGeneration: 1,
      }),
  };
}

/** One of the organisations, with room for its part of so many paymasters. */
export function benchOrganisation(index: number, paymasters: number) {
  const namespace = namespaceOf(index);
  const quotas = { paymasters: Math.ceil(paymasters / organisations) };
  return { apiVersion, kind: 'Organisation', metadata: { name: namespace }, spec: { namespace, quotas } };
}

const prefix = 'dapp-';

function nameOf(index: number): string {
  return `${prefix}${String(index).padStart(6, '0')}`;
}

export function namespaceOf(index: number): string {
  return `bench-${index % organisations}`;
}

function collectionOf(kind: Kind, index: number): string {
  return `/apis/${apiVersion}/namespaces/${namespaceOf(index)}/${kindNames[kind].plural}`;
}

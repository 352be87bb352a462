import { given } from '../core/units/given.js';
import type { EntryPointVersion } from '../core/entry-point/version.js';
import { deriveApiKey } from '../core/config/api-key.js';
import type { ChainConfig, ProfileConfig } from '../core/config/chain-config.js';
import type { ConfigStore } from '../core/config/config-store.js';
import { currentKeyGeneration } from '../core/config/memory.js';
import { toTenant } from '../core/config/tenant.js';
import { derivePaymasterId } from '../core/config/ids.js';
import { layouts } from '../core/paymaster/layouts.js';
import type { Paymaster } from '../core/resources/paymaster.js';
import type { SmartContract } from '../core/resources/smart-contract.js';
import type { ResourceStore } from '../core/resources/resource-store.js';
import { manifestManager } from '../adapters/manifests/apply-manifests.js';
import { listOwners } from '../core/resources/managed-fields.js';
import { isConditionTrue } from '../core/meta/conditions.js';
import type { MasterKeys } from '../core/secrets.js';
import type { Logger } from '../core/log.js';
import type { Console } from './console.js';
import { writePrivateFile, type DataDirectory } from './data-directory.js';
import { readField } from '../core/schema/json-value.js';

/** What a script needs to call this instance; the paymaster's fields are absent until a paymaster exists. */
export type Connection = {
  /** Origin of the dashboard API. */
  readonly dashboardUrl: string;
  readonly chainRpcUrl: string;
  /** The bundlers behind the JSON-RPC address, where one runs beside a dev chain: clients need `rpcUrl` alone. */
  readonly bundlers?: readonly string[];
  readonly authToken?: string;
  /** Token for `make status`, new at each start: it can read everything about the instance and change nothing. */
  readonly operatorToken?: string;
  readonly chainId?: number;
  /** Whole JSON-RPC address, with chain and key. */
  readonly rpcUrl?: string;
  readonly apiKey?: string;
  readonly paymasterId?: string;
  readonly entryPoint?: string;
  readonly entryPointVersion?: EntryPointVersion;
  readonly paymasterAddress?: string;
  /** A registered contract and the signature of a whitelisted method without arguments. */
  readonly sponsoredContract?: { readonly address: string; readonly method: string };
  readonly feeToken?: { readonly address: string; readonly symbol: string; readonly decimals: number };
  readonly versions: readonly {
    readonly version: string;
    readonly layout: string;
    readonly entryPoint: string;
    readonly entryPointVersion: EntryPointVersion;
    readonly paymasterAddress: string;
    readonly tokenPaymasterAddress?: string;
  }[];
};

/**
 * Describes one paymaster, the same one at each start: among those that the manifests declare, or else among all, the first
 * ready one by namespace and name, if possible one with a contract that can be called, or else the first one.
 */
export async function describeConnection(deps: {
  readonly origin: string;
  /** Where wallets reach it. Default: there, too. */
  readonly publicOrigin?: string;
  readonly chainRpcUrl: string;
  readonly bundlers?: readonly string[];
  readonly authToken: string | undefined;
  readonly operatorToken?: string;
  readonly masterKeys: MasterKeys;
  readonly resources: ResourceStore;
  readonly configs: ConfigStore;
}): Promise<Connection> {
  const all = [...(await deps.resources.list('Paymaster'))].sort(byName);
  const declared = all.filter((candidate) => listOwners(candidate, 'spec.name').some(isManifests));
  const paymasters = declared.length > 0 ? declared : all;
  const ready = paymasters.filter((candidate) => isConditionTrue(candidate, 'Ready'));
  const contracts = [...(await deps.resources.list('SmartContract'))].sort(byName);
  const sponsoredBy = ({ metadata: { namespace, name } }: Paymaster) =>
    contracts
      .filter(({ metadata, spec }) => metadata.namespace === namespace && spec.paymasterRef.name === name)
      .flatMap(callableWithoutArguments)[0];
  const paymaster = ready.find(sponsoredBy) ?? ready[0] ?? paymasters[0];
  const chains = (await deps.configs.listChains()).map(({ config }) => config);
  const chain = chains.find(({ chainId }) => chainId === paymaster?.spec.chainId) ?? chains[0];
  return {
    dashboardUrl: deps.origin,
    chainRpcUrl: deps.chainRpcUrl,
    ...given({ bundlers: deps.bundlers, authToken: deps.authToken, operatorToken: deps.operatorToken }),
    ...(chain && describeChain(chain)),
    ...(paymaster && {
      ...describePaymaster(deps, paymaster, chain),
      ...given({ sponsoredContract: sponsoredBy(paymaster) }),
    }),
    versions: (chain?.profiles ?? []).map((profile) => ({
      version: profile.version,
      layout: profile.layout,
      ...describeProfile(profile),
      ...given({ tokenPaymasterAddress: profile.token }),
    })),
  };
}

function isManifests({ manager }: { readonly manager: string }): boolean {
  return manager === manifestManager;
}

function describeChain(chain: ChainConfig): Partial<Connection> {
  const [token] = chain.feeTokens;
  return {
    chainId: chain.chainId,
    ...(token === undefined
      ? {}
      : { feeToken: { address: token.address, symbol: token.symbol, decimals: token.decimals } }),
  };
}

function describePaymaster(
  deps: { readonly origin: string; readonly publicOrigin?: string; readonly masterKeys: MasterKeys },
  paymaster: Paymaster,
  chain: ChainConfig | undefined,
): Partial<Connection> {
  const { namespace = '', name } = paymaster.metadata;
  const { chainId, version } = paymaster.spec;
  const tenant = toTenant(namespace, paymaster.status?.tenantGeneration);
  const keyGeneration = currentKeyGeneration(paymaster.spec, paymaster.status);
  const apiKey = deriveApiKey(deps.masterKeys.current, { namespace: tenant, name, keyGeneration });
  const profile = chain?.profiles.find((candidate) => candidate.version === version);
  return {
    rpcUrl: `${deps.publicOrigin ?? deps.origin}/api/v1/${chainId}/${apiKey}`,
    apiKey,
    paymasterId: derivePaymasterId(tenant, name),
    ...(profile && describeProfile(profile)),
  };
}

function describeProfile(
  profile: ProfileConfig,
): Pick<Connection['versions'][number], 'entryPoint' | 'entryPointVersion' | 'paymasterAddress'> {
  return {
    entryPoint: profile.entryPoint,
    entryPointVersion: layouts[profile.layout].entryPointVersion,
    paymasterAddress: profile.sponsorship,
  };
}

function callableWithoutArguments({
  spec,
  status,
}: SmartContract): readonly { address: string; method: string }[] {
  const abi: unknown = JSON.parse(spec.abi);
  const functions = Array.isArray(abi) ? abi.filter(isFunctionWithoutArguments).map(({ name }) => name) : [];
  return (spec.whitelistedMethods ?? [])
    .filter((method) => functions.includes(method) && status?.methods?.includes(method))
    .map((method) => ({ address: spec.address, method: `${method}()` }));
}

function isFunctionWithoutArguments(entry: unknown): entry is { readonly name: string } {
  const inputs = readField(entry, 'inputs');
  return typeof readField(entry, 'name') === 'string' && Array.isArray(inputs) && inputs.length === 0;
}

function byName(a: Paymaster | SmartContract, b: Paymaster | SmartContract): number {
  const [left, right] = [
    `${a.metadata.namespace}/${a.metadata.name}`,
    `${b.metadata.namespace}/${b.metadata.name}`,
  ];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Keeps connection.json current while the instance runs: keys are rotated, and refused resources are corrected. */
export function createConnectionFile(deps: {
  readonly describe: () => Promise<Connection>;
  readonly directory: Pick<DataDirectory, 'connectionFile'>;
  readonly console: Pick<Console, 'line'>;
  readonly log: Logger;
}) {
  const { connectionFile } = deps.directory;
  let written = '';
  let running: Promise<void> | undefined;
  let isAsked = false;

  async function write(): Promise<{ readonly connection: Connection; readonly isChanged: boolean }> {
    const connection = await deps.describe();
    const text = `${JSON.stringify(connection, null, 2)}\n`;
    const isChanged = text !== written;
    if (isChanged) writePrivateFile(connectionFile, text);
    written = text;
    return { connection, isChanged };
  }

  async function refresh(): Promise<void> {
    while (isAsked) {
      isAsked = false;
      try {
        if ((await write()).isChanged) deps.console.line(`connection facts have changed: ${connectionFile}`);
      } catch (error) {
        // Stores close during a write while the instance stops; if the disk is full, everything else reports it too.
        deps.log.warn('connection facts not written', { error });
      }
    }
    running = undefined;
  }

  return {
    write: async (): Promise<Connection> => (await write()).connection,
    /** Writes the file again if something in it has changed, and says so; runs one write at a time. Never throws. */
    refresh(): void {
      isAsked = true;
      running ??= refresh();
    },
  };
}

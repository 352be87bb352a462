import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { id } from 'ethers';
import { parseAllDocuments, stringify } from 'yaml';
import { createStops } from '../../../adapters/process/stops.js';
import type { CheckId } from '../../../core/problems/checks.js';
import type { ProblemRecord } from '../../../core/problems/render.js';
import type { Connection } from '../../../standalone/connection.js';
import { paymaster } from '../../support/paymaster.js';
import { repositoryRoot } from '../../support/repository-root.js';
import { until } from '../../support/until.js';
import { freshUserOp, rpc, rpcUrlFor } from './client.js';
import { attachDevChain } from './dev-chain.js';
import {
  removeDataDirectory,
  startStandalone,
  stopStandalone,
  type RunningStandalone,
} from './standalone.js';

// `paymaster doctor` on `make run` with something broken.

export const namespace = 'quickstart';
/** A wallet that the organisation may use. */
export const almostEmpty = '0x00000000000000000000000000000000000000f8';
export const nowhere = '0x00000000000000000000000000000000000000C1';
const apiVersion = 'paymasters.dev/v1alpha1';

export const aPaymaster = (name: string, spec: object = {}, of = namespace) => ({
  kind: 'Paymaster',
  metadata: { name, namespace: of },
  spec: { name, chainId: 31337, type: 'HYBRID', version: '1.1.0', ...spec },
});
export const aPolicy = (name: string, of: string, spec: object) => ({
  kind: 'PaymasterPolicy',
  metadata: { name, namespace },
  spec: { paymasterRef: { name: of }, name, ...spec },
});
export const aLimit = (name: string, of: string, spec: object = {}) =>
  aPolicy(name, of, {
    policyType: 'PAYMASTER_SA_LIMIT',
    spendingLimit: {
      scope: 'PAYMASTER',
      cycleDuration: { value: 1, unit: 'day' },
      threshold: '1000',
      thresholdType: 'COUNT',
    },
    ...spec,
  });

export const aContract = (name: string, spec: object) => ({
  kind: 'SmartContract',
  metadata: { name, namespace },
  spec: { paymasterRef: { name: 'shop' }, name, abi, whitelistedMethods: ['go'], ...spec },
});
const abi = JSON.stringify([
  { type: 'function', name: 'go', inputs: [], outputs: [], stateMutability: 'nonpayable' },
]);
export const sponsored = { mode: 'SPONSORED', calculateGasLimits: false };

type Wanted = { readonly check: CheckId; readonly name: string; readonly says?: RegExp };

type Broken = {
  readonly check: CheckId;
  /** The object. */
  readonly of: string;
  readonly says?: RegExp;
  readonly breaks: () => unknown;
  /** An organisation is not shown what is of the platform alone. */
  readonly isOfPlatform?: true;
};

type Askers = readonly (() => ReturnType<typeof paymaster>)[];
type ChainLike = { readonly profiles: readonly { readonly version: string }[] };

type Manifest = { readonly spec: object };

/** Waits until it is found, by each of those who ask; the command then ends with 1. */
export async function expectFound({ check, name, says = /./ }: Wanted, askers: Askers): Promise<void> {
  for (const ask of askers) {
    let last = '';
    await until(
      () => `${check} of ${name} is found in ${last}`,
      async () => {
        const { out, status, error } = await ask();
        if (out === '') throw new Error(error);
        const { problems } = JSON.parse(out) as { readonly problems: readonly ProblemRecord[] };
        last = problems.map((each) => `${each.check} of ${each.name}`).join(', ');
        const found = problems.find((each) => each.check === check && each.name === name);
        if (found === undefined || !says.test(`${found.message} ${found.meaning}`)) return false;
        expect(found.remedy).not.toBe('');
        expect(status).toBe(found.severity === 'note' ? status : 1);
        return true;
      },
    );
  }
}

/** An instance of the file's own, whose manifests its tests break. `settings`: further ones of it. */
export function useDoctor(settings: Readonly<Record<string, string>> = {}) {
  const stops = createStops();
  let manifests: string;
  let running: RunningStandalone;
  let tokenFile: string;
  /** As it was at first: later it may name another paymaster. */
  let connection: Required<Connection>;
  beforeAll(async () => {
    manifests = mkdtempSync(join(tmpdir(), 'doctor-'));
    stops.add(() => rmSync(manifests, { recursive: true, force: true }));
    cpSync(join(repositoryRoot, 'examples/quickstart'), manifests, { recursive: true });
    const environment = {
      PAYMASTER_MANIFESTS: manifests,
      PAYMASTER_SIGNER_KEY_STRANGER: id('a stranger'),
      ...settings,
    };
    running = await startStandalone({ environment, hasMovableClock: true });
    stops.add(async () => {
      await stopStandalone(running);
      removeDataDirectory(running.dataDirectory);
    });
    connection = running.connection();
    tokenFile = join(running.dataDirectory, 'token');
    writeFileSync(tokenFile, connection.authToken);
  });
  afterAll(() => stops.run());

  const asOrganisation = () =>
    paymaster(['doctor', '-o', 'json'], {
      PAYMASTER_URL: connection.dashboardUrl,
      PAYMASTER_TOKEN_FILE: tokenFile,
    });
  const asPlatform = () =>
    paymaster(
      ['doctor', '-o', 'json', '--data-dir', running.dataDirectory, '--readyz', connection.dashboardUrl],
      {},
    );

  function apply(
    ...objects: readonly { readonly kind: string; readonly metadata: { readonly name: string } }[]
  ) {
    for (const object of objects)
      writeFileSync(
        join(manifests, `${object.kind}-${object.metadata.name}.yaml`),
        stringify({ apiVersion, ...object }),
      );
  }

  /** Time passes on the chain and in the service. */
  async function pass(seconds: number): Promise<void> {
    const devChain = attachDevChain(connection.chainRpcUrl, connection.chainId);
    try {
      await devChain.chain.request('evm_increaseTime', [seconds]);
      await devChain.chain.request('evm_mine', []);
    } finally {
      await devChain.stop();
    }
    running.advance(seconds * 1000);
  }

  /** The Chain of the quickstart with something changed. */
  function changeChain(change: (spec: ChainLike) => object): void {
    const file = join(manifests, 'chain.yaml');
    const chain = parseAllDocuments(readFileSync(file, 'utf8'))[0]!.toJS() as { readonly spec: ChainLike };
    writeFileSync(file, stringify({ ...chain, spec: { ...chain.spec, ...change(chain.spec) } }));
  }
  /** One more version of the contract of 1.1.0. */
  function addVersion(version: string, changed: object): void {
    changeChain(({ profiles }) => ({
      profiles: [...profiles, { ...profiles.find((each) => each.version === '1.1.0'), version, ...changed }],
    }));
  }

  const ask = async (url: string) =>
    rpc(url, 'pm_sponsorUserOperation', [freshUserOp(connection), sponsored]);
  /** Where wallets of this paymaster ask. */
  async function urlOf(name: string): Promise<string> {
    const { dashboardUrl, authToken } = connection;
    let key: string | undefined;
    await until(`${name} has a key`, async () => {
      const answer = await fetch(`${dashboardUrl}/manage/v1/paymasters/${name}/key`, {
        headers: { authToken },
      });
      key = ((await answer.json()) as { readonly data?: { readonly key: string } }).data?.key;
      return key !== undefined;
    });
    return rpcUrlFor(connection, key!);
  }

  /** A paymaster with a limit. */
  const applyLimited = (name: string, spec: object): void =>
    apply(aPaymaster(name, spec), aLimit(`${name}-limit`, name));
  const aChain = (name: string, chainId: number, spec: object) => {
    const known = parseAllDocuments(
      readFileSync(join(manifests, 'chain.yaml'), 'utf8'),
    )[0]!.toJS() as Manifest;
    return { kind: 'Chain', metadata: { name }, spec: { ...known.spec, chainId, ...spec } };
  };
  const finds = (wanted: Wanted, askers: Askers = [asOrganisation, asPlatform]) =>
    expectFound(wanted, askers);
  const findsEach = (rows: readonly Broken[]): void =>
    test.each(rows)('$check', async ({ check, of, says, breaks, isOfPlatform }) => {
      await breaks();
      await finds(
        { check, name: of, ...(says && { says }) },
        isOfPlatform ? [asPlatform] : [asOrganisation, asPlatform],
      );
    });
  return {
    get manifests() {
      return manifests;
    },
    get running() {
      return running;
    },
    get connection() {
      return connection;
    },
    get tokenFile() {
      return tokenFile;
    },
    asOrganisation,
    asPlatform,
    pass,
    finds,
    findsEach,
    apply,
    applyLimited,
    changeChain,
    addVersion,
    aChain,
    ask,
    urlOf,
  };
}

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from '@jest/globals';
import { Interface } from 'ethers';
import { parseAllDocuments, stringify } from 'yaml';
import type { CheckId } from '../../core/problems/checks.js';
import { devFeeds } from '../../standalone/dev-chain/price-feeds.js';
import { encodeWith } from '../chain/support/account.js';
import { until } from '../support/until.js';
import { attachDevChain } from './support/dev-chain.js';
import { aContract, aLimit, almostEmpty, aPaymaster, namespace, useDoctor } from './support/doctor.js';

// What `paymaster doctor` finds wrong with chains, deposits, prices and stores.

const doctor = useDoctor();
const { finds, findsEach, apply, applyLimited, changeChain, aChain } = doctor;

findsEach([
  {
    check: 'deposit-low',
    of: 'needy',
    async breaks() {
      const devChain = attachDevChain(doctor.connection.chainRpcUrl, doctor.connection.chainId);
      try {
        const data = encodeWith(new Interface(['function depositFor(address)']), 'depositFor', [almostEmpty]);
        const to = devChain.profile('1.1.0').sponsorship;
        await devChain.transactor.send('a small deposit', { to, data, value: 5n * 10n ** 15n });
      } finally {
        await devChain.stop();
      }
      const organisation = join(doctor.manifests, 'organisation.yaml');
      writeFileSync(
        organisation,
        readFileSync(organisation, 'utf8').replace(
          '  namespace: quickstart',
          `  namespace: quickstart\n  fundingAddresses: ['${almostEmpty}']`,
        ),
      );
      applyLimited('needy', { funding: { address: almostEmpty } });
    },
  },
  {
    check: 'nothing-to-serve',
    of: 'bare',
    breaks: () => apply(aChain('bare', 79, { profiles: [] })),
    isOfPlatform: true,
  },
  {
    check: 'wrong-chain',
    of: 'stray',
    breaks() {
      apply(aChain('stray', 78, { rpc: { urls: [doctor.connection.chainRpcUrl] } }));
      applyLimited('astray', { chainId: 78 });
    },
  },
  {
    check: 'no-native-price',
    of: 'dollars',
    breaks() {
      const spendingLimit = { scope: 'PAYMASTER', never: {}, threshold: '1', thresholdType: 'USD' };
      apply(aChain('unpriced', 80, { nativePrice: undefined }));
      apply(aPaymaster('rich', { chainId: 80 }), aLimit('dollars', 'rich', { spendingLimit }));
    },
  },
  {
    check: 'secret-not-written',
    of: 'secretive',
    breaks() {
      const secrets = join(doctor.running.dataDirectory, 'secrets', namespace);
      mkdirSync(secrets, { recursive: true });
      writeFileSync(join(secrets, 'taken.json'), '{"owner":"somebody","data":{}}');
      applyLimited('secretive', { writeConnectionSecretToRef: { name: 'taken' } });
    },
  },
  {
    check: 'not-programmed',
    of: 'huge',
    breaks() {
      const names = Array.from({ length: 1_000 }, (_, index) => `method${index}`);
      const large = JSON.stringify(names.map((name) => ({ type: 'function', name, inputs: [] })));
      applyLimited('huge', {});
      for (let index = 0; index < 50; index += 1) {
        const address = `0x${(index + 1).toString(16).padStart(40, '0')}`;
        const spec = { paymasterRef: { name: 'huge' }, abi: large, whitelistedMethods: names, address };
        apply(aContract(`large-${index}`, spec));
      }
    },
  },
  {
    check: 'data-fee-unknown',
    of: 'dev',
    breaks: () => changeChain(() => ({ dataFee: { kind: 'OpStack', maxFee: '0.001' } })),
  },
]);

test('a price that cannot be used', async () => {
  const file = join(doctor.manifests, 'fee-token.yaml');
  const token = parseAllDocuments(readFileSync(file, 'utf8'))[0]!.toJS() as TokenLike;
  // Without the source that never fails.
  const [price] = token.spec.price.combine.sources;
  writeFileSync(file, stringify({ ...token, spec: { ...token.spec, price } }));
  const { chainRpcUrl, chainId, feeToken } = doctor.connection;
  const devChain = attachDevChain(chainRpcUrl, chainId);
  try {
    const { native } = devFeeds(feeToken.symbol);
    const data = encodeWith(new Interface(['function set(int256 answer)']), 'set', [0]);
    await devChain.transactor.send('a price of zero', { to: native.address, data });
  } finally {
    await devChain.stop();
  }
  await finds({ check: 'price-unusable', name: 'dev-dusd' });
});

test('price-jump: a price that fell too far', async () => {
  const { chainRpcUrl, chainId, feeToken } = doctor.connection;
  const { native } = devFeeds(feeToken.symbol);
  const devChain = attachDevChain(chainRpcUrl, chainId);
  const setTo = async (dollars: bigint): Promise<void> => {
    const data = encodeWith(new Interface(['function set(int256 answer)']), 'set', [dollars * 10n ** 8n]);
    await devChain.transactor.send('a price', { to: native.address, data });
  };
  try {
    await setTo(3_000n);
    const nativePrice = { chainlink: { nativeFeed: native.address } };
    const spendingLimit = { scope: 'PAYMASTER', never: {}, threshold: '1000', thresholdType: 'USD' };
    changeChain(() => ({ nativePrice }));
    apply(aPaymaster('fallen', {}), aLimit('in-dollars', 'fallen', { spendingLimit }));
    const url = await doctor.urlOf('fallen');
    await until('the price is accepted', async () => (await doctor.ask(url)).status === 200);
    await setTo(1n);
    // Until the server reads the price again.
    await doctor.pass(15);
    await finds({ check: 'price-jump', name: 'dev' });
  } finally {
    await devChain.stop();
  }
});

type TokenLike = {
  readonly spec: { readonly price: { readonly combine: { readonly sources: readonly object[] } } };
};

// The last ones: a chain does not go back.
test.each<{ readonly check: CheckId; readonly seconds: number }>([
  { check: 'clock-skew', seconds: 75 },
  { check: 'clock-ahead', seconds: 3600 },
])('$check: a clock that is $seconds s behind the chain', async ({ check, seconds }) => {
  const { chainRpcUrl, chainId } = doctor.connection;
  const devChain = attachDevChain(chainRpcUrl, chainId);
  try {
    await devChain.chain.request('evm_increaseTime', [seconds]);
    await devChain.chain.request('evm_mine', []);
    // A block that is not followed by others is ahead for a moment only.
    await devChain.chain.request('evm_setIntervalMining', [1]);
  } finally {
    await devChain.stop();
  }
  // Until the operator looks at the chain again.
  await doctor.pass(20);
  await finds({ check, name: 'dev' });
});

import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import { createSqliteLedger } from '../../adapters/store/ledger/sqlite-ledger.js';
import { userOperationEventTopic } from '../../core/entry-point/user-operation-event.js';
import type { FundsSample } from '../../core/ledger/record.js';
import { pricesFor, createPrices } from '../../core/ledger/prices.js';
import { createStatement } from '../../core/ledger/statement.js';
import { endOf } from '../../core/ledger/steps.js';
import { toAddressKey, type Address } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import type { EpochMs } from '../../core/units/time.js';
import { lineShape, renderLines } from '../../server/dashboard/ledger/statement-record.js';
import { createRecordIds } from '../../server/ledger/record-ids.js';
import { devAccounts } from '../../standalone/dev-chain/dev-accounts.js';
import { createTransactor } from '../../standalone/dev-chain/transactor.js';
import { followDevChain } from '../attacks/support/followed-dev-chain.js';
import { encodeWith } from './support/account.js';
import { startDevChain, type DevChain } from './support/dev-chain.js';
import { handleOps } from './support/handle-ops.js';

// A month on a real chain: its statement against balances, receipts and prices that are read and added up here.

const abi = new Interface([
  'function depositTo(address account) payable',
  'function depositFor(address paymasterId) payable',
  'function withdrawTo(address to, uint256 amount)',
  'function balanceOf(address account) view returns (uint256)',
  'function getBalance(address paymasterId) view returns (uint256)',
  'event UserOperationEvent(bytes32 indexed userOpHash, address indexed sender, address indexed paymaster, uint256 nonce, bool success, uint256 actualGasCost, uint256 actualGasUsed)',
]);
const hour = 3_600;
const dollars = (usd: number): bigint => BigInt(usd) * 10n ** 18n;

let devChain: DevChain;
beforeEach(async () => {
  devChain = await startDevChain();
});
afterEach(() => devChain.stop());

type Line = {
  readonly line: string;
  readonly paymasterId: string | null;
  readonly amountWei: string | null;
  readonly usd: string | null;
  readonly unpricedWei: string;
  readonly oldestPriceSeconds: number;
};

test.each(['hybrid-0.9', 'singleton-0.8'])(
  'a month with deposits, withdrawals, losses, a reorganisation and two gaps of prices adds up with the chain: %s',
  async (version) => {
    const it = await followDevChain(devChain, version, undefined, (id: string) =>
      id === 'pm-2' ? 'other' : 'acme',
    );
    const { profile } = it;
    const keepsBalances = profile.layout === 'hybrid-0.9';
    const { chain, chainId, transactor } = devChain;
    const contract = toAddressKey(profile.sponsorship);
    const funding = toAddressKey(devChain.deployments.defaultFunding);
    const nowMs = async () => ((await devChain.time()) * 1_000) as EpochMs;
    const call = (to: Address, name: string, values: readonly unknown[], value = 0n) =>
      transactor.send(name, { to, data: encodeWith(abi, name, values), value });
    const prices = new Map<number, bigint>();
    const ids = createRecordIds(it.clock);

    /** As the sampling of balances does in each hour. */
    async function priced(usd: bigint | undefined): Promise<void> {
      const sample: FundsSample = {
        kind: 'funds',
        id: ids.next().id,
        at: await nowMs(),
        chainId,
        contract,
        fundingAddress: undefined,
        balanceWei: 0n,
        promisedWei: 0n,
        usdPerNative: usd,
      };
      await it.records!.add([sample]);
      if (usd !== undefined) prices.set(Math.floor(sample.at / 1_000 / hour), usd);
    }

    async function mine(paymasterId = 'pm-1'): Promise<void> {
      const account = await it.newAccount();
      const promised = await it.sponsor(account, await it.operation(account), { paymasterId });
      await handleOps(devChain, profile.entryPointVersion, [promised!.signed]);
    }

    const balance = async (block: number): Promise<readonly bigint[]> => {
      const ask = async (to: Address, name: string, of: string) =>
        BigInt(await chain.call({ to, data: encodeWith(abi, name, [of]), block }));
      const deposit = await ask(profile.entryPoint, 'balanceOf', contract);
      return keepsBalances ? [deposit, await ask(profile.sponsorship, 'getBalance', funding)] : [deposit];
    };

    const ledger = await createSqliteLedger({ path: it.path });
    try {
      // The month before: what happens in it is in no line.
      await it.settle();
      await call(profile.entryPoint, 'depositTo', [contract], 123n);
      await it.settle();
      const from = endOf(await nowMs(), 'month');
      const toMonth = async (begin: EpochMs): Promise<number> => {
        const last = (await chain.block('latest'))!.number;
        await it.pass(begin / 1_000 - (await devChain.time()) + 5);
        await it.settle();
        return last;
      };
      const openingBlock = await toMonth(from);

      // Hours 0 to 2 have prices; then the source fails for two hours, and for ten.
      await priced(dollars(2_000));
      await mine();
      await mine('pm-2');
      await call(profile.entryPoint, 'depositTo', [contract], 10n ** 15n + 7n);
      await it.settle();
      await it.pass(hour);
      await priced(2_100_500_000_000_000_000_000n);
      await mine();
      await it.settle();
      await it.pass(2 * hour);
      await priced(undefined);
      await mine();
      await it.settle();
      await it.pass(10 * hour);
      await mine();
      await it.settle();
      await it.pass(hour);
      await priced(dollars(1_900));
      await mine();

      // Blocks that a reorganisation removes after they were settled.
      const snapshot = await chain.request('evm_snapshot', []);
      await mine();
      await call(profile.entryPoint, 'depositTo', [contract], 10n ** 16n);
      await it.settle();
      await chain.request('evm_revert', [snapshot]);
      await it.pass(1, 3);
      await mine('pm-2');
      await it.pass(1, 3);
      await it.settle();
      await it.settle();

      if (keepsBalances) {
        const sponsor = createTransactor(chain, devAccounts.funding.privateKey);
        await call(profile.sponsorship, 'depositFor', [funding], 10n ** 14n + 3n);
        await sponsor.send('withdraw', {
          to: profile.sponsorship,
          data: encodeWith(abi, 'withdrawTo', [devAccounts.treasury.address, 10n ** 13n + 1n]),
        });
      } else {
        // An account that pays nothing after its operation, and the owner takes something out.
        const account = await it.newAccount();
        const promised = await it.promiseTokens(account, await it.operation(account));
        await handleOps(devChain, profile.entryPointVersion, [promised!.signed]);
        await call(profile.sponsorship, 'withdrawTo', [devAccounts.treasury.address, 10n ** 13n + 1n]);
      }
      await it.settle();
      const to = endOf(from, 'month');
      const closingBlock = await toMonth(to);

      // The chain's own figures.
      const logs = await chain.logs({
        fromBlock: openingBlock + 1,
        toBlock: closingBlock,
        address: profile.entryPoint,
        topics: [userOperationEventTopic, null, null, `0x${contract.slice(2).padStart(64, '0')}` as Hex],
      });
      const costs = await Promise.all(
        logs.map(async ({ topics, data, blockNumber }) => {
          const event = abi.parseLog({ topics, data })!;
          const { timestamp } = (await chain.block(blockNumber))!;
          return { wei: BigInt(event.args['actualGasCost'] as bigint), hour: Math.floor(timestamp / hour) };
        }),
      );
      expect(costs.length).toBe(keepsBalances ? 7 : 8);
      const cost = costs.reduce((all, { wei }) => all + wei, 0n);

      const accounts = [undefined, ...(keepsBalances ? [funding] : [])].map((fundingAddress) => ({
        chainId,
        contract,
        fundingAddress,
      }));
      const facts = await ledger.statement({ accounts, from, to });
      const found = createPrices(await ledger.prices(pricesFor({ chainIds: [chainId], from, to })));
      const isOwn = ({ organisation }: { readonly organisation: string }) => organisation === 'acme';
      const rendered = facts.map(
        (one) =>
          renderLines(createStatement(one, { to, now: to, prices: found, isOwn }), {
            names: () => undefined,
            prices: found,
          }).map(lineShape.render) as readonly Line[],
      );
      const [opening, closing] = [await balance(openingBlock), await balance(closingBlock)];
      for (const [at, lines] of rendered.entries()) {
        const weiOf = (name: string) =>
          lines
            .filter(({ line }) => line === name)
            .reduce((all, { amountWei }) => all + BigInt(amountWei ?? 'x'), 0n);
        expect(weiOf('opening')).toBe(opening[at]);
        expect(weiOf('closing')).toBe(closing[at]);
        expect(weiOf('others')).toBe(0n);
        const all = lines.slice(0, -1).reduce((sum, { amountWei }) => sum + BigInt(amountWei ?? 'x'), 0n);
        expect(all).toBe(closing[at]);
        expect(weiOf('mined') + weiOf('minedByOthers') + weiOf('losses')).toBe(-cost);
        expect(weiOf('minedByOthers')).toBeLessThan(0n);
      }
      const lineOf = (at: number, name: string): Line => rendered[at]!.find(({ line }) => line === name)!;
      const paidIn = 10n ** 15n + 7n;
      if (keepsBalances) {
        expect(lineOf(0, 'deposits').amountWei).toBe(String(paidIn + 10n ** 14n + 3n));
        expect(lineOf(1, 'deposits').amountWei).toBe(String(10n ** 14n + 3n));
        expect(lineOf(1, 'withdrawals').amountWei).toBe(String(-(10n ** 13n) - 1n));
        expect(lineOf(0, 'burnt').amountWei).toBe('0');
      } else {
        expect(lineOf(0, 'deposits').amountWei).toBe(String(paidIn));
        expect(lineOf(0, 'losses').amountWei).toMatch(/^-\d+$/);
      }
      expect(lineOf(0, 'withdrawals').amountWei).toBe(String(-(10n ** 13n) - 1n));

      // Dollars: each cost at the price of its hour, or of the nearest one up to six hours before.
      let usd = 0n;
      let unpriced = 0n;
      for (const { wei, hour: of } of costs) {
        const priceHour = [0, 1, 2, 3, 4, 5, 6].map((back) => of - back).find((one) => prices.has(one));
        if (priceHour === undefined) unpriced += wei;
        else usd += wei * prices.get(priceHour)!;
      }
      const lines = rendered[0]!.filter(({ line }) => ['mined', 'minedByOthers', 'losses'].includes(line));
      const micros = lines.reduce((all, line) => all - microsOf(line.usd), 0n);
      // Each line is rounded up by itself, to a millionth of a dollar.
      const exact = usd / 10n ** 30n;
      expect(micros - exact).toBeGreaterThanOrEqual(0n);
      expect(micros - exact).toBeLessThanOrEqual(BigInt(lines.length));
      expect(exact).toBeGreaterThan(10_000n);
      expect(lines.reduce((all, { unpricedWei }) => all + BigInt(unpricedWei), 0n)).toBe(unpriced);
      expect(unpriced).toBeGreaterThan(0n);
      expect(Math.max(...lines.map(({ oldestPriceSeconds }) => oldestPriceSeconds))).toBeGreaterThan(hour);
    } finally {
      await ledger.stop();
      await it.stop();
    }
  },
);

/** US dollars, as text with at most 6 decimals, in millionths. */
function microsOf(usd: string | null): bigint {
  const [whole = '0', fraction = ''] = (usd ?? '0').replace('-', '').split('.');
  const micros = BigInt(whole + fraction.padEnd(6, '0'));
  return usd?.startsWith('-') === true ? -micros : micros;
}

import { Interface } from 'ethers';
import type { UserOperationEvent } from '../../../core/entry-point/user-operation-event.js';
import type { Hex } from '../../../core/units/hex.js';
import type { FinalUserOperation } from '../../../core/entry-point/user-operation.js';
import { buildAccount, encodeWith, type TestAccount } from '../../chain/support/account.js';
import { balanceOf } from '../../chain/support/balances.js';
import type { DevChain } from '../../chain/support/dev-chain.js';
import { handleOp } from '../../chain/support/handle-ops.js';
import { sendAs } from '../../chain/support/send-as.js';
import { approval, mint, transfer } from '../../chain/support/tokens.js';
import { buildUserOp, signByAccount } from '../../chain/support/user-op.js';
import { until } from '../../support/until.js';
import { rpc, toWire, type RpcAnswer } from './client.js';

const counter = new Interface(['function increment()']);
const plenty = 10n ** 10n;

/** Accounts that pay for their gas in the dev chain's token, honestly or not. */
export type TokenPayers = {
  /** A new account with plenty of tokens. */
  newAccount(): Promise<TestAccount>;
  /** Requests data for the account's next operation, which has an `approve`; earlier ones may be mined and not settled yet. */
  ask(account: TestAccount, url?: string): Promise<RpcAnswer>;
  /** Has an operation signed and mined, which pays. */
  pay(account: TestAccount): Promise<UserOperationEvent>;
  /**
   * The same, but the tokens are moved away in between: the operation is mined and pays nothing. Only for an account that has
   * paid before: an account that does not exist yet can no longer be created after its own transaction.
   */
  cheat(account: TestAccount): Promise<UserOperationEvent>;
};

export function tokenPayers(devChain: DevChain, version: string, rpcUrl: string): TokenPayers {
  const { deployments } = devChain;
  const token = deployments.feeToken.address;
  const profile = devChain.profile(version);
  const increment = { to: deployments.sponsoredContract.address, data: encodeWith(counter, 'increment', []) };
  const mode = { mode: 'ERC20', tokenInfo: { feeTokenAddress: token } };
  const draftOf = (account: TestAccount) =>
    buildUserOp(account, [approval(token, profile, plenty), increment]);

  const ask = (draft: FinalUserOperation, url = rpcUrl) =>
    rpc(url, 'pm_sponsorUserOperation', [toWire(draft), mode]);

  async function pay(account: TestAccount, meanwhile: () => Promise<void>): Promise<UserOperationEvent> {
    const draft = await draftOf(account);
    let answer = await ask(draft);
    // Operations that were mined before count as pending until the follower has settled them.
    await until(
      'former operations are settled',
      async () => {
        if (answer.error?.data?.['reason'] === 'TOKEN_EXPOSURE_FULL') answer = await ask(draft);
        return answer.error?.data?.['reason'] !== 'TOKEN_EXPOSURE_FULL';
      },
      60_000,
    );
    const { error, result } = answer;
    if (error !== undefined) throw new Error(`refused: ${error.message}`);
    const signed = await signByAccount(account, draft, result?.['paymasterAndData'] as Hex);
    await meanwhile();
    return (await handleOp(devChain, profile.entryPointVersion, signed)).event;
  }

  return {
    async newAccount() {
      const account = await buildAccount(devChain, profile.entryPointVersion);
      await mint(devChain, token, account.address, plenty);
      return account;
    },
    ask: async (account, url) => ask(await draftOf(account), url),
    pay: (account) => pay(account, () => Promise.resolve()),
    async cheat(account) {
      const event = await pay(account, async () => {
        const held = await balanceOf(devChain, token, account.address);
        await sendAs(devChain, account.address, transfer(token, deployments.treasury, held));
      });
      await mint(devChain, token, account.address, plenty);
      return event;
    },
  };
}

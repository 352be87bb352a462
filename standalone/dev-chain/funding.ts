import { Interface } from 'ethers/abi';
import type { Chain } from '../../core/chain/chain.js';
import type { Address } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import { parseEther } from '../../core/units/wei.js';
import { devAccounts } from './dev-accounts.js';
import type { PaymasterContract } from './paymaster-contracts.js';
import type { Transactor } from './transactor.js';

const fundingEther = parseEther('10000');
/** Deposit of contracts that keep no balance per sponsor, and of the account that pays in token mode. */
const sharedEther = parseEther('1000');
const stakeEther = parseEther('1');
const unstakeDelaySeconds = 86_400;

const stakeManager = new Interface([
  'function balanceOf(address account) view returns (uint256)',
  'function depositTo(address account) payable',
  'function getDepositInfo(address account) view returns (tuple(uint256 deposit, bool staked, uint112 stake, uint32 unstakeDelaySec, uint48 withdrawTime))',
]);
const paymasterAbi = new Interface([
  'function getBalance(address paymasterId) view returns (uint256)',
  'function depositFor(address paymasterId) payable',
  'function addStake(uint32 unstakeDelaySec) payable',
]);

/** Makes each deposit and stake only if it does not exist: a deposit that a user of the dev chain has spent is not refilled. */
export async function fundPaymaster(
  chain: Chain,
  transactor: Transactor,
  paymaster: PaymasterContract,
): Promise<void> {
  const { name, sponsorship, entryPoint } = paymaster;
  const isHybrid = name.startsWith('Hybrid');
  const deposits: readonly (readonly [Address, bigint])[] = isHybrid
    ? [
        [devAccounts.funding.address, fundingEther],
        [devAccounts.treasury.address, sharedEther],
      ]
    : [];
  for (const [account, value] of deposits)
    if ((await read(chain, sponsorship, paymasterAbi, 'getBalance', account)) === 0n)
      await transactor.send(`deposit in ${name}`, {
        to: sponsorship,
        data: encode(paymasterAbi, 'depositFor', [account]),
        value,
      });
  if ((await read(chain, entryPoint, stakeManager, 'balanceOf', sponsorship)) === 0n)
    await transactor.send(`EntryPoint deposit of ${name}`, {
      to: entryPoint,
      data: encode(stakeManager, 'depositTo', [sponsorship]),
      value: sharedEther,
    });
  // VerifyingPaymaster's owner is the deterministic deployer (its constructor's caller), so nobody can stake for it.
  if (name !== 'VerifyingPaymaster' && !(await isStaked(chain, entryPoint, sponsorship)))
    await transactor.send(`stake of ${name}`, {
      to: sponsorship,
      data: encode(paymasterAbi, 'addStake', [unstakeDelaySeconds]),
      value: stakeEther,
    });
}

async function isStaked(chain: Chain, entryPoint: Address, account: Address): Promise<boolean> {
  const data = encode(stakeManager, 'getDepositInfo', [account]);
  const [info] = stakeManager.decodeFunctionResult(
    'getDepositInfo',
    await chain.call({ to: entryPoint, data }),
  );
  return Boolean(info.staked);
}

async function read(
  chain: Chain,
  to: Address,
  abi: Interface,
  method: string,
  account: Address,
): Promise<bigint> {
  const [value] = abi.decodeFunctionResult(
    method,
    await chain.call({ to, data: encode(abi, method, [account]) }),
  );
  return BigInt(value);
}

function encode(abi: Interface, method: string, values: readonly unknown[]): Hex {
  return `0x${abi.encodeFunctionData(method, values).slice(2)}`;
}

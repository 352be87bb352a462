import { Interface } from 'ethers';
import { decodeUserOperationEvent } from '../../../core/entry-point/user-operation-event.js';
import { layouts } from '../../../core/paymaster/layouts.js';
import { parseAddress, toAddressKey, type Address, type AddressKey } from '../../../core/units/address.js';
import type { Log } from '../../../core/chain/chain.js';
import type { Hex } from '../../../core/units/hex.js';
import { devAccounts } from '../../../standalone/dev-chain/dev-accounts.js';
import { asHex, encodeWith } from '../../chain/support/account.js';
import type { DevChain } from '../../chain/support/dev-chain.js';
import { chargesIn, owedIn } from '../../chain/support/hybrid.js';
import { callOf, fatGas, fatReceiver, possible, relay } from './delivery.js';
import {
  direct,
  type AccountCall,
  type ActionResult,
  type ChainAction,
  type ContractSpec,
  type OperationResult,
} from './operations.js';
import { foreignKey, signingKeys } from './signing-keys.js';

const abi = new Interface([
  'function depositTo(address account) payable',
  'function depositFor(address paymasterId) payable',
  'function withdrawTo(address to, uint256 amount)',
  'function setSigner(address signer)',
  'function addSigner(address signer)',
  'function removeSigner(address signer)',
  'function incrementNonce(uint192 key)',
  'function mint(address to, uint256 amount)',
  'function balanceOf(address account) view returns (uint256)',
  'function allowance(address account, address spender) view returns (uint256)',
  'function getBalance(address paymasterId) view returns (uint256)',
  'function getNonce(address sender, uint192 key) view returns (uint256)',
]);
const failures = new Interface([
  'error FailedOp(uint256 opIndex, string reason)',
  'error FailedOpWithRevert(uint256 opIndex, string reason, bytes inner)',
]);
/** Receiver of the tokens that an account moves away. */
const sink = '0x000000000000000000000000000000000000dead' as AddressKey;
const bundleGas = 12_000_000n;
/** Receives the gas. It exists: creating an account costs 25,000 gas, which is nobody's. */
const beneficiary = toAddressKey(devAccounts.treasury.address as Address);

/**
 * An account that accepts every operation: `validateUserOp` answers 0 (0x3a871cdd on 0.6, 0x19822f7c later). Any other call data of
 * more than 20 bytes calls the address in the first 20 with the rest, and reverts when that call does.
 */
export const openAccountCode: Hex = `0x${[
  '60003560e01c', // selector
  '80633a871cdd14604557',
  '6319822f7c14604557',
  '36601410156050', // up to 20 bytes: done
  '57',
  '60143603601460003760006000601436036000600060003560601c5af1',
  '605057',
  '600080fd',
  '5b60006000526020',
  '6000f3',
  '5b00',
].join('')}`;

/** Drives the EntryPoints and paymasters of a dev chain, one action per block. */
export class RealChain {
  readonly #dev: DevChain;
  readonly #contracts: ReadonlyMap<AddressKey, ContractSpec>;
  /** Snapshots by the height after which they were taken. */
  readonly #snapshots = new Map<number, string>();
  #height = 0;

  constructor(dev: DevChain, contracts: ReadonlyMap<AddressKey, ContractSpec>) {
    this.#dev = dev;
    this.#contracts = contracts;
  }

  get height(): number {
    return this.#height;
  }

  /** Base fee of the newest block. */
  async baseFee(): Promise<bigint> {
    return (await this.#dev.chain.block('latest'))!.baseFeePerGas;
  }

  /** Gives each address the code of an open account and ether; later actions are blocks from `height` on. */
  async open(senders: readonly AddressKey[], wallets: readonly AddressKey[] = []): Promise<void> {
    for (const sender of senders) {
      await this.#request('anvil_setCode', [sender, openAccountCode]);
      await this.#dev.setBalance(sender, 10n ** 22n);
      await this.#request('anvil_impersonateAccount', [sender]);
    }
    for (const { address, code } of [relay, fatReceiver])
      await this.#request('anvil_setCode', [address, code]);
    await this.#request('anvil_setBlockGasLimit', ['0x5f5e100']);
    const payers = [devAccounts.deployer, devAccounts.funding, devAccounts.treasury].map(
      ({ address }) => address,
    );
    for (const address of [...payers, ...wallets]) {
      await this.#dev.setBalance(address, 10n ** 25n);
      await this.#request('anvil_impersonateAccount', [address]);
    }
    // The node mines by itself some time after it has answered: a block would come when nobody expects one.
    await this.#request('evm_setAutomine', [false]);
    // The treasury refunds the excess of an advance payment.
    for (const contract of this.#contracts.keys()) {
      const data = calls('0x095ea7b3', contract, 2n ** 256n - 1n);
      const from = devAccounts.treasury.address;
      await this.#request('eth_sendTransaction', [
        { from, to: this.#dev.deployments.feeToken.address, data },
      ]);
    }
    await this.#request('evm_mine', []);
    this.#height = (await this.#dev.chain.block('latest'))!.number;
    await this.#snapshot();
  }

  async mineEmpty(time: number): Promise<void> {
    await this.#request('evm_setNextBlockTimestamp', [time]);
    await this.#request('evm_mine', []);
    await this.#mined();
  }

  /** Carries out the action and resolves with its result. A bundle that would revert leaves no block, as nobody would send it. */
  async mine(action: ChainAction, time: number): Promise<ActionResult> {
    await this.#request('evm_setNextBlockTimestamp', [time]);
    const { from, to, data, value = 0n, gas = bundleGas } = this.#transactionOf(action);
    const hash = await this.#request('eth_sendTransaction', [
      { from, to, data, value: `0x${value.toString(16)}`, gas: `0x${gas.toString(16)}` },
    ]);
    await this.#request('evm_mine', []);
    // The receipt may be larger than anybody can read.
    const tracer = { tracer: 'callTracer', tracerConfig: { onlyTopCall: true } };
    const trace = (await this.#request('debug_traceTransaction', [hash, tracer])) as {
      readonly error?: string;
      readonly output?: Hex;
    };
    if (trace.error !== undefined) {
      await this.#undo();
      return { outcome: 'failed', ...failureOf(trace.output ?? '0x') };
    }
    await this.#mined();
    if (action.do !== 'bundle') return { outcome: 'done', operations: [] };
    return { outcome: 'done', operations: this.#resultsOf(action.operations, await this.logs(action)) };
  }

  /** Logs of the newest block by the EntryPoint and the contracts of a bundle. */
  async logs({ entryPoint, operations }: Bundle): Promise<readonly Log[]> {
    const { number } = (await this.#dev.chain.block('latest'))!;
    const address = [entryPoint, ...new Set(operations.map(({ contract }) => contract))].map(parseAddress);
    return this.#dev.chain.logs({ fromBlock: number, toBlock: number, address });
  }

  async reorganise(height: number): Promise<void> {
    const snapshot = this.#snapshots.get(height);
    if (snapshot === undefined) throw new Error(`no snapshot of block ${height}`);
    await this.#request('evm_revert', [snapshot]);
    // The node's clock does not go back by itself.
    await this.#request('evm_setTime', [(await this.#dev.time()) * 1000]);
    for (const other of this.#snapshots.keys()) if (other >= height) this.#snapshots.delete(other);
    this.#height = height;
    await this.#snapshot();
  }

  /** Deposit of a contract, wallet in it, nonce, tokens and allowance of a sender, in that order. */
  async read(
    contract: AddressKey,
    wallet: AddressKey,
    sender: AddressKey,
    key: bigint,
  ): Promise<readonly bigint[]> {
    const spec = this.#contracts.get(contract)!;
    const token = this.#dev.deployments.feeToken.address;
    const calls = [
      { to: spec.entryPoint, data: encodeWith(abi, 'balanceOf', [contract]) },
      { to: contract, data: encodeWith(abi, 'getBalance', [wallet]) },
      { to: spec.entryPoint, data: encodeWith(abi, 'getNonce', [sender, key]) },
      { to: token, data: encodeWith(abi, 'balanceOf', [sender]) },
      { to: token, data: encodeWith(abi, 'allowance', [sender, contract]) },
    ];
    return (await this.#dev.chain.words(calls, 'latest')).map((value) => value ?? 0n);
  }

  #transactionOf(action: ChainAction): {
    readonly from: string;
    readonly to: string;
    readonly data: Hex;
    readonly value?: bigint;
    readonly gas?: bigint;
  } {
    const bundler = devAccounts.deployer.address;
    switch (action.do) {
      case 'bundle': {
        const version = this.#contracts.get(action.operations[0]!.contract)!.version;
        const delivery = possible(action.delivery ?? direct, version);
        const gas = bundleGas + (delivery.fat === 'nothing' ? 0n : fatGas);
        return { from: bundler, ...callOf(delivery, { ...action, version, beneficiary }), gas };
      }
      case 'deposit': {
        const { entryPoint } = this.#contracts.get(action.contract)!;
        const value = action.amount;
        return action.wallet === undefined
          ? { from: bundler, to: entryPoint, data: encodeWith(abi, 'depositTo', [action.contract]), value }
          : {
              from: bundler,
              to: action.contract,
              data: encodeWith(abi, 'depositFor', [action.wallet]),
              value,
            };
      }
      case 'withdraw':
        return {
          from: action.wallet,
          to: action.contract,
          data: encodeWith(abi, 'withdrawTo', [sink, action.amount]),
        };
      case 'signer': {
        const { keys } = this.#contracts.get(action.contract)!;
        const [method, signer] = ownerCall(keys, action.isAccepted, signingKeys[action.key]!);
        return { from: bundler, to: action.contract, data: encodeWith(abi, method, [signer]) };
      }
      case 'spend-nonce':
        return {
          from: action.sender,
          to: action.entryPoint,
          data: encodeWith(abi, 'incrementNonce', [action.key]),
        };
      case 'mint':
        return {
          from: bundler,
          to: this.#dev.deployments.feeToken.address,
          data: encodeWith(abi, 'mint', [action.sender, action.amount]),
        };
      case 'tokens':
        return {
          from: action.sender,
          ...targetOf(action.call as Exclude<AccountCall, { kind: 'nothing' }>, this.#targets()),
        };
    }
  }

  #resultsOf(operations: Bundle['operations'], logs: readonly Log[]): readonly OperationResult[] {
    const events = logs.flatMap((log, at) => {
      const event = decodeUserOperationEvent(log);
      return event === undefined ? [] : [{ event, at }];
    });
    return operations.map((operation, i): OperationResult => {
      const { event, at } = events[i]!;
      // The contract's events lie between the event of the previous operation and this one.
      const own = logs
        .slice(i === 0 ? 0 : events[i - 1]!.at + 1, at)
        .filter(({ address }) => toAddressKey(address) === operation.contract);
      const [reported] = chargesIn(own);
      const codec = Object.values(layouts)
        .flatMap(({ token }) => (token === undefined ? [] : [token]))
        .find(({ chargeOf }) =>
          chargeOf(own, { paymaster: operation.contract, userOpHash: event.userOpHash }),
        );
      const paid = codec?.chargeOf(own, { paymaster: operation.contract, userOpHash: event.userOpHash });
      return {
        operation,
        userOpHash: event.userOpHash,
        success: event.success,
        cost: event.actualGasCost,
        gasUsed: event.actualGasUsed,
        charge: reported?.charge,
        premium: reported?.premium ?? 0n,
        isChargeReported: reported !== undefined,
        tokens: operation.terms.mode === 'ERC20' ? (paid?.amount ?? 0n) : undefined,
        owed: owedIn(own)[0]?.owed ?? 0n,
        kept: paid === undefined ? (operation.terms.preFund ?? 0n) : 0n,
      };
    });
  }

  #targets(): CallTargets {
    const { feeToken, sponsoredContract } = this.#dev.deployments;
    return { feeToken: feeToken.address, counter: sponsoredContract.address };
  }

  async #mined(): Promise<void> {
    this.#height += 1;
    await this.#snapshot();
  }

  async #snapshot(): Promise<void> {
    this.#snapshots.set(this.#height, String(await this.#request('evm_snapshot', [])));
  }

  /** Removes a block that only holds a reverted bundle. */
  async #undo(): Promise<void> {
    await this.reorganise(this.#height);
  }

  #request(method: string, params: readonly unknown[]): Promise<unknown> {
    return this.#dev.chain.request(method, params);
  }
}

type Bundle = Extract<ChainAction, { readonly do: 'bundle' }>;

/** How the owner of a contract lets it accept a key, or refuse it. */
function ownerCall(
  keys: ContractSpec['keys'],
  isAccepted: boolean,
  signer: Address,
): readonly [string, Address] {
  if (keys === 'fixed') throw new Error('the contract cannot change its key');
  if (keys === 'one') return ['setSigner', isAccepted ? signer : foreignKey];
  return [isAccepted ? 'addSigner' : 'removeSigner', signer];
}

/** Contracts that an open account calls. */
export type CallTargets = { readonly feeToken: string; readonly counter: string };

/** Call data that make an open account do something with its tokens. */
export function callDataOf(call: AccountCall, targets: CallTargets): Hex {
  if (call.kind === 'nothing') return '0x';
  const { to, data } = targetOf(call, targets);
  return asHex(`${to.toLowerCase()}${data.slice(2)}`);
}

/** Written without ethers, which takes longer than the rest of a step. */
function calls(selector: Hex, address: string, amount: bigint): Hex {
  return `${selector}${address.slice(2).toLowerCase().padStart(64, '0')}${amount.toString(16).padStart(64, '0')}`;
}

function targetOf(
  call: Exclude<AccountCall, { kind: 'nothing' }>,
  { feeToken, counter }: CallTargets,
): { readonly to: string; readonly data: Hex } {
  switch (call.kind) {
    case 'fail':
      return { to: counter, data: '0xa9cc4718' };
    case 'approve':
      return { to: feeToken, data: calls('0x095ea7b3', call.contract, call.amount) };
    case 'send':
      return { to: feeToken, data: calls('0xa9059cbb', sink, call.amount) };
  }
}

function failureOf(data: Hex): { readonly index: number; readonly code: string } {
  const failure = data === '0x' ? null : failures.parseError(data);
  if (failure === null) return { index: 0, code: 'reverted' };
  return { index: Number(failure.args[0]), code: String(failure.args[1]).slice(0, 4) };
}

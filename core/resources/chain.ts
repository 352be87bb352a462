import {
  boolean,
  integer,
  integerOr,
  keyedList,
  list,
  object,
  text,
  type Infer,
} from '../schema/structural.js';
import { maxAddresses } from '../policy/address-list.js';
import { dataFee } from '../chain/data-fee/spec.js';
import type { Resource } from '../meta/meta.js';
import { nativePrice } from '../pricing/native-price.js';
import { gasCaps, weiPerGas } from '../policy/rules/price-guard/gas-caps.js';
import { functionRows } from '../userop/added-functions.js';
import { profile } from './profile.js';
import {
  address,
  chainId,
  coins,
  column,
  conditions,
  explorerUrl,
  httpUrl,
  mountedFile,
  foundStatus,
  exactlyOneOf,
  uniqueBy,
} from '../meta/schema-parts.js';
import { expirySeconds, rateLimits, version } from './schema-parts.js';

const stake = object(
  'What bundlers of the chain ask a paymaster contract to stake in its EntryPoint. The condition Staked says when a contract has less, or has it locked for a shorter time; signing goes on.',
  {
    required: { amount: coins('Coins, e.g. "0.1".') },
    optional: {
      unstakeDelaySeconds: integer('Seconds for which the stake stays locked, e.g. 86400. Default 86400.', {
        minimum: 1,
        maximum: 31_536_000,
      }),
    },
  },
);

export type StakeSpec = Infer<typeof stake>;

const spec = object(
  'What the platform offers.',
  {
    required: {
      chainId: chainId('Chain id, e.g. 8453; one Chain object each.'),
      rpc: object(
        'How to reach the chain: exactly one of urls and file.',
        {
          optional: {
            urls: list(
              'JSON-RPC URLs in order of preference, e.g. [https://mainnet.base.org]. For URLs that hold a key use file.',
              httpUrl('A URL, e.g. https://mainnet.base.org.', { confidential: true }),
              { minItems: 1, maxItems: 16 },
            ),
            file: mountedFile(
              'Key of the Secret that is mounted for chain URLs (paymaster-chain-urls), e.g. base: one URL per line.',
            ),
            multicall3: address(
              'Address of Multicall3, by which the balances of many wallets are read in one call; on most chains 0xcA11bde05977b3631167028862bE2a173976CA11. Without it a call runs code of our own, which some nodes refuse; they are asked by JSON-RPC batches, or by one call for each wallet.',
            ),
          },
        },
        exactlyOneOf('urls', 'file'),
      ),
      nativeCurrency: object('The coin that pays gas.', {
        required: {
          name: text('Name, e.g. Ether.', { minLength: 1, maxLength: 64 }),
          symbol: text('Symbol, e.g. ETH.', { minLength: 1, maxLength: 32 }),
          decimals: integer('Decimals; 18 on every EVM chain.', {
            minimum: 18,
            maximum: 18,
            expected: '18: thresholds and prices are counted in units of 10^18 wei',
          }),
        },
      }),
      profiles: list(
        'Paymaster contracts that may be used.',
        profile,
        { maxItems: 32 },
        uniqueBy('version', 'profiles'),
      ),
    },
    optional: {
      suspended: boolean('True stops every signature on this chain at once.'),
      explorer: explorerUrl(
        'Block explorer to which the console links: address/ADDRESS, tx/HASH and block/NUMBER below it, as Etherscan and Blockscout have them, e.g. https://basescan.org. Default: none, and no links.',
      ),
      bundlers: object(
        'Bundlers behind the JSON-RPC address of every Paymaster of the chain: they get the operations that the service has promised to pay for, so that a client needs one URL. They also estimate where our own simulation cannot. Exactly one of urls and file. Absent: clients use a bundler of their own.',
        {
          optional: {
            urls: list(
              'URLs in order of preference, e.g. [https://bundler.example.org/rpc]. For URLs that hold a key use file.',
              httpUrl('A URL, e.g. https://bundler.example.org/rpc.', { confidential: true }),
              { minItems: 1, maxItems: 16 },
            ),
            file: mountedFile(
              'Key of the Secret that is mounted for chain URLs (paymaster-chain-urls), e.g. base-bundlers: one URL per line.',
            ),
          },
        },
        exactlyOneOf('urls', 'file'),
      ),
      confirmations: integerOr(
        'Blocks on top of an event before it settles a reservation, or finalized: it settles when the node says that its block is final. The node must know the block tag finalized and answer about the state of the final block; where blocks are final only after minutes, as on roll-ups, that takes a node with older states, and promises stay reserved as long. Default 12.',
        'finalized',
        { minimum: 0, maximum: 10_000 },
      ),
      delegates: list(
        'Delegates that EIP-7702 operations may name (EntryPoint 0.8 and later). Absent means none.',
        address(
          'Address of a delegate, e.g. 0xe6Cae83BdE06E4c305530e199D7217f42808555B (Simple7702Account).',
        ),
        { maxItems: 256 },
      ),
      deniedSenders: list(
        `Accounts for which nothing is signed on this chain, in no mode, whatever tenants say. At most ${maxAddresses}.`,
        address('Address of an account, e.g. 0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985.'),
        { maxItems: maxAddresses },
      ),
      accountFactories: list(
        'Factories that the initCode of an operation may name; code that is paid for before any call is looked at. Absent means any, an empty list none. A Paymaster can only tighten it. What a factory does within maxDeploymentGas is not bounded by this.',
        address(
          'Address of a factory, e.g. 0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985 (SimpleAccount, EntryPoint 0.7).',
        ),
        { maxItems: 256 },
      ),
      accountFunctions: functionRows(
        'Functions with which accounts of the chain make their calls, beside those that are built in (see /openrpc.json): for every Paymaster of the chain. A wrong row opens them all to calls that nobody has registered. A row that has no effect is named by condition FunctionsIgnored.',
      ),
      accountModules: list(
        'Modules that the first operation of a Safe7579 may install, beside those that are built in. Their code acts as the account, whatever calls its operation makes.',
        address('Address of a module, e.g. 0x2483DA3A338895199E5e538530213157e931Bf06 (OwnableValidator).'),
        { maxItems: 256 },
      ),
      gas: gasCaps(
        'Caps on the gas fields that callers choose. They replace the defaults; a Paymaster can only tighten them.',
      ),
      minPriorityFeePerGas: weiPerGas(
        'The least maxPriorityFeePerGas that nodes and bundlers of the chain take, in wei, e.g. "25000000000" on Polygon. An operation with less would wait for ever and hold its limits, so it is refused; paymaster contract pays as much. The default cap on tips is never below it. Default: none.',
      ),
      dataFee,
      stake,
      nativePrice,
      maxExpirySeconds: expirySeconds(
        'Longest validity of signed data in seconds; a Paymaster can only shorten it. Data for payments in tokens are valid for 600 at most. Default 600.',
      ),
      rateLimit: rateLimits(
        'Most requests that each Paymaster of the chain answers; a Paymaster can only tighten it. None by default.',
      ),
    },
  },
  {
    rule: "!has(self.dataFee) || self.dataFee.kind != 'Bundler' || has(self.bundlers)",
    message: 'must be of another kind than Bundler without bundlers, which are asked for the fee',
    fieldPath: '.dataFee',
  },
  {
    rule: '!has(self.minPriorityFeePerGas) || !has(self.gas) || !has(self.gas.maxPriorityFeePerGas) || int(self.gas.maxPriorityFeePerGas) >= int(self.minPriorityFeePerGas)',
    message: 'must be at most gas.maxPriorityFeePerGas: no tip would be both low and high enough',
    fieldPath: '.minPriorityFeePerGas',
  },
);

const status = foundStatus({
  profiles: keyedList(
    'What was found on chain about each profile.',
    'version',
    object('One profile.', {
      required: { version: version('Version of the profile.'), conditions },
    }),
    { maxItems: 32 },
  ),
});

export type ChainSpec = Infer<typeof spec>;
export type ChainStatus = Infer<typeof status>;
export type Chain = Resource<'Chain', ChainSpec, ChainStatus>;

export const chainKind = {
  description: 'A chain that paymasters may run on, how to reach it, and which paymaster contracts it has.',
  spec,
  status,
  printerColumns: [
    column('Chain', 'integer', '.spec.chainId', 'Chain id, e.g. 8453.'),
    column('Versions', 'string', '.spec.profiles[*].version', 'Profiles that are offered.', 1),
  ],
  selectableFields: ['spec.chainId'],
} as const;

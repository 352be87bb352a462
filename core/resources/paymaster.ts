import { boolean, choice, immutable, integer, list, object, text, type Infer } from '../schema/structural.js';
import type { Resource } from '../meta/meta.js';
import {
  address,
  chainId,
  column,
  displayName,
  enforcement,
  hasPreviousKey,
  instant,
  neverFalls,
  objectName,
  foundStatus,
} from '../meta/schema-parts.js';
import { gasCaps } from '../policy/rules/price-guard/gas-caps.js';
import { functionRows } from '../userop/added-functions.js';
import { namedKeys, namedKeyStatus } from './named-key.js';
import { contractAction, expirySeconds, rateLimits, version } from './schema-parts.js';

const another = 'delete this Paymaster and create another';

const funding = object(
  "The wallet whose deposit pays, and the proof that it agrees. Without it the profile's default funding wallet pays, if it serves this namespace.",
  {
    required: {
      address: address(
        'Address of the funding wallet, e.g. 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed: the paymasterId on chain.',
      ),
    },
    optional: {
      message: text('The funding message that the wallet signed, exactly as it was shown.', {
        minLength: 1,
        maxLength: 4096,
      }),
      signature: text('EIP-191 signature of the message by that wallet.', {
        maxLength: 132,
        pattern: '^0x([0-9a-fA-F]{128}|[0-9a-fA-F]{130})$',
        expected: 'a signature: 0x and 130 (or, in compact form, 128) hex digits',
        confidential: true,
      }),
    },
  },
  {
    rule: 'has(self.message) == has(self.signature)',
    message:
      'must be given with both message and signature, or with neither when the Organisation lists the address',
  },
);

const sponsor = object(
  'Who pays, as wallets show it to their users: sent with ERC-7677 stub data in mode SPONSORED.',
  {
    required: { name: displayName('Name of the sponsor, e.g. "My Shop".') },
    optional: {
      icon: text(
        'Square image of at least 96 by 96 pixels as a data URI of at most 16 KiB: PNG, WebP or SVG in base64, e.g. data:image/png;base64,iVBORw0KGgo=',
        {
          maxLength: 16_384,
          pattern: '^data:image/(png|webp|svg\\+xml);base64,[A-Za-z0-9+/]+={0,2}$',
          expected: 'a data URI of a PNG, WebP or SVG image in base64: data:image/png;base64,…',
        },
      ),
    },
  },
);

/** Who pays, as wallets show it to their users. */
export type SponsorInfo = Infer<typeof sponsor>;

const spec = object(
  'What the owner wants.',
  {
    required: {
      name: displayName(
        'Name of the DApp, unique per chain in its organisation, e.g. "my shop". Never changes.',
        immutable(another),
      ),
      chainId: chainId('Chain that the DApp runs on, e.g. 8453. Never changes.', immutable(another)),
      type: choice(
        'HYBRID serves sponsorship and token payment at one endpoint. Never changes.',
        ['HYBRID'],
        immutable(another),
      ),
      version: version(
        'Profile of the chain: which EntryPoint and paymaster contract, e.g. 1.1.0. Never changes.',
        immutable(another),
      ),
    },
    optional: {
      suspended: boolean('True stops every signature at once.'),
      funding,
      keyGeneration: integer(
        'Raise it to rotate the apiKey. Default: the highest that a Paymaster of this name ever had, else 1.',
        { minimum: 1, maximum: 1_000_000 },
      ),
      previousKeyUntil: instant(
        'Until then the key of the generation before works too, e.g. "2026-12-01T00:00:00Z".',
      ),
      keys: namedKeys,
      defaultContractAction: contractAction(
        'What happens while no SmartContract is registered: Allow sponsors calls to any contract, Deny sponsors none. Absent: what the Organisation says, else the platform (Allow unless it is set).',
      ),
      gas: gasCaps(
        "Caps on the gas fields that callers choose. Each can only tighten the Chain's, or the default where the Chain has none: a wider one has no effect, and condition CapsLimited says so.",
      ),
      maxExpirySeconds: expirySeconds(
        "Longest validity of signed data in seconds. It can only shorten the Chain's (600 unless the Chain says otherwise), which counts where this is absent.",
      ),
      accountFactories: list(
        'Factories that the initCode of an operation may name, as far as the Chain allows them too. Absent means all that it allows, an empty list none.',
        address(
          'Address of a factory, e.g. 0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985 (SimpleAccount, EntryPoint 0.7).',
        ),
        { maxItems: 256 },
      ),
      accountFunctions: functionRows(
        'Functions with which accounts make their calls, beside those that are built in (see /openrpc.json) and those of the Chain: the calls of an operation can be read only where its function is known. A wrong row opens this paymaster to calls that nobody has registered. A row that has no effect is named by condition FunctionsIgnored.',
      ),
      contractsEnforcement: enforcement(
        'Shadow: registered contracts and methods are judged and refuse nothing, so calls of ANY contract are sponsored meanwhile. What they would refuse is in explanations, decisions, usage and metrics. Default Enforce.',
      ),
      withoutCampaign: choice(
        'Requests that name no campaign while active policies have one: Deny refuses them; Allow has only the policies without a campaign judge them, so an apiKey alone decides whether the limits of a campaign count. Default Deny.',
        ['Allow', 'Deny'],
      ),
      requireAccountSignature: boolean(
        'True signs only operations that their account has signed: clients send signingPhase, first commit, then finalize. Stock ERC-7677 clients do not. Needs a version whose contract reads the paymaster signature of EntryPoint 0.9, e.g. verifying-0.9.',
      ),
      allowedOrigins: list(
        'Origins of web pages that may ask for data, e.g. https://app.example.com. Absent: every page. A convenience, not a protection: a program that is not a browser sends any origin or none.',
        text(
          'Origin of a page, e.g. https://app.example.com: scheme, host and, where it is not the usual one, port.',
          {
            maxLength: 300,
            pattern: '^[a-z][a-z0-9+.-]*://([a-z0-9._-]+|\\[[0-9a-f:.]+\\])(:[1-9][0-9]{0,4})?$',
            expected: 'an origin as browsers send it, e.g. https://app.example.com or http://localhost:3000',
          },
        ),
        { maxItems: 50 },
      ),
      rateLimit: rateLimits("Limits of requests. They can only tighten the Chain's; none by default."),
      sponsor,
      writeConnectionSecretToRef: object(
        'Secret in the same namespace that receives apiKey, rpcUrl, paymasterId, chainId and webhookKey, e.g. {name: shop-connection}.',
        { required: { name: objectName('Name of the Secret, e.g. shop-paymaster.') } },
      ),
    },
  },
  neverFalls('keyGeneration', 'a rotated apiKey'),
  hasPreviousKey,
);

const status = foundStatus({
  paymasterId: text('Id of this paymaster in the dashboard API.', { maxLength: 64 }),
  address: address('Contract that pays in mode SPONSORED.'),
  tokenAddress: address('Contract that pays in mode ERC20; may be the same.'),
  tenantGeneration: integer('spec.tenantGeneration of the Organisation that it is served for; absent: 1.', {
    minimum: 1,
    maximum: 1_000_000,
  }),
  keyGeneration: integer(
    "The key generation in force, where it is higher than the spec's: a Paymaster that is made again keeps the highest of its name.",
    { minimum: 1, maximum: 1_000_000 },
  ),
  apiKeyFingerprint: text('First 8 hex digits of the SHA-256 of the current apiKey.', { maxLength: 8 }),
  keys: namedKeyStatus,
  contracts: integer('Registered contracts.', { minimum: 0, maximum: 1_000_000 }),
  policies: integer('Policies.', { minimum: 0, maximum: 1_000_000 }),
});

export type PaymasterSpec = Infer<typeof spec>;
export type PaymasterStatus = Infer<typeof status>;
export type Paymaster = Resource<'Paymaster', PaymasterSpec, PaymasterStatus>;

export const paymasterKind = {
  description:
    'A paymaster of one DApp on one chain: it pays the gas of user operations that its policies pass.',
  spec,
  status,
  printerColumns: [
    column(
      'Serving',
      'string',
      '.status.conditions[?(@.type=="Serving")].reason',
      'Whether operations are signed now, or what keeps them from it.',
    ),
    column('Chain', 'integer', '.spec.chainId', 'Chain id, e.g. 8453.'),
    column('Name', 'string', '.spec.name', 'Name of the DApp.'),
    column('Version', 'string', '.spec.version', 'Profile of the chain.'),
    column('Funded', 'string', '.status.conditions[?(@.type=="Funded")].reason', 'State of the deposit.'),
    column('Address', 'string', '.status.address', 'Contract.', 1),
    column('Contracts', 'integer', '.status.contracts', 'Registered contracts.', 1),
    column('Policies', 'integer', '.status.policies', 'Policies.', 1),
  ],
  selectableFields: ['spec.name', 'spec.chainId'],
} as const;

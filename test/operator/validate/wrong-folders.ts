import type { AnyResource } from '../../../core/resources/kinds.js';
import {
  aChain,
  aFeeToken,
  aLimit,
  anOrganisation,
  aPaymaster,
  aPolicy,
  aProfile,
  aSmartContract,
} from '../../build/resources.js';

/** A folder with one mistake, and the message that names it. */
export type WrongFolder = {
  readonly name: string;
  readonly files: readonly string[];
  readonly message: string;
};

/** All objects of a folder without a mistake; an object in `changed` replaces the one with its kind and name. */
function folder(...changed: readonly AnyResource[]): readonly AnyResource[] {
  const right: readonly AnyResource[] = [
    anOrganisation(),
    aChain(),
    aPaymaster(),
    aSmartContract(),
    aPolicy(),
  ];
  const isReplaced = (object: AnyResource): boolean =>
    changed.some(({ kind, metadata }) => kind === object.kind && metadata.name === object.metadata.name);
  return [...right.filter((object) => !isReplaced(object)), ...changed];
}

export const rightFolder: readonly string[] = folder().map((object) => manifest(object));

function manifest(
  { apiVersion, kind, metadata, spec }: AnyResource,
  edit: Readonly<Record<string, unknown>> = {},
): string {
  const { name, namespace } = metadata;
  return JSON.stringify({ apiVersion, kind, metadata: { name, namespace }, spec, ...edit });
}

function wrong(name: string, message: string, ...changed: readonly AnyResource[]): WrongFolder {
  return { name, message, files: folder(...changed).map((object) => manifest(object)) };
}

/** A document that the builders cannot express; it is added to a correct folder. */
function raw(name: string, message: string, document: string): WrongFolder {
  return { name, message, files: [...rightFolder, document] };
}

const paymasterWith = (spec: object, metadata: object = {}): string =>
  manifest(aPaymaster(), {
    metadata: { name: 'other', namespace: 'acme', ...metadata },
    spec: { ...aPaymaster().spec, name: 'Other', ...spec },
  });
const policyWith = (spec: object): string =>
  manifest(aPolicy(), {
    metadata: { name: 'other', namespace: 'acme' },
    spec: { ...aPolicy().spec, name: 'Other', ...spec },
  });
const webhook = (url: string): AnyResource =>
  aPolicy({ meta: { name: 'hook' }, name: 'Hook', policyType: 'WEBHOOK', webhook: { url } });
const contract = (name: string, spec: Parameters<typeof aSmartContract>[0] = {}): AnyResource =>
  aSmartContract({ meta: { name }, name, address: `0x${'00'.repeat(19)}e1`, ...spec });

export const wrongFolders: readonly WrongFolder[] = [
  // Mistakes that a store refuses.
  raw('YAML that does not parse', 'document must be valid YAML', 'kind: Paymaster\n  spec: {'),
  raw(
    'an apiVersion that is not known',
    'apiVersion must be "paymasters.dev/v1alpha1", got "paymasters.dev/v1"',
    manifest(aPaymaster({ meta: { name: 'other' } }), { apiVersion: 'paymasters.dev/v1' }),
  ),
  raw(
    'a kind that is mistyped',
    'kind must be one of Chain, FeeToken',
    manifest(aPaymaster({ meta: { name: 'other' } }), { kind: 'Paymastr' }),
  ),
  raw(
    'no namespace',
    'metadata.namespace must be set: Paymaster belongs to a namespace',
    paymasterWith({}, { namespace: undefined }),
  ),
  raw(
    'a namespace on a cluster-scoped kind',
    'metadata.namespace must be left out: Chain belongs to no namespace',
    manifest(aChain(), { metadata: { name: 'two', namespace: 'acme' } }),
  ),
  raw('a name in capitals', 'metadata.name must be lowercase letters', paymasterWith({}, { name: 'Shop' })),
  raw(
    'a label that is too long',
    'metadata.labels["team"] must be text of at most 63',
    paymasterWith({}, { labels: { team: 'x'.repeat(64) } }),
  ),
  raw(
    'an object that is defined twice',
    'metadata.name must be defined once: Paymaster acme/shop stands in',
    manifest(aPaymaster()),
  ),
  raw('a field that is not known', 'spec.suspend must be', paymasterWith({ suspend: true })),
  raw('a chain id as text', 'spec.chainId must be', paymasterWith({ chainId: '31337' })),
  raw('a field that is missing', 'spec.version must be', paymasterWith({ version: undefined })),
  raw(
    'a choice that is not offered',
    'spec.defaultContractAction must be',
    paymasterWith({ defaultContractAction: 'allow' }),
  ),
  raw(
    'a time without a zone',
    'spec.previousKeyUntil must be a time such as',
    paymasterWith({ previousKeyUntil: '2026-01-01T00:00:00' }),
  ),
  raw('a policy type that is not known', 'spec.policyType must be', policyWith({ policyType: 'LIMIT' })),
  raw(
    'a unit that is not known',
    'spec.spendingLimit.cycleDuration.unit must be',
    policyWith({ spendingLimit: { ...aLimit, cycleDuration: { value: 1, unit: 'week' } } }),
  ),
  raw(
    'a threshold as a number',
    'spec.spendingLimit.threshold must be',
    policyWith({ spendingLimit: { ...aLimit, threshold: 10 } }),
  ),
  raw(
    'a policy with the member of another type',
    'spec.webhook must be set when policyType is WEBHOOK',
    policyWith({ policyType: 'WEBHOOK' }),
  ),
  raw(
    'an address that is too short',
    'spec.address must be',
    manifest(aSmartContract(), {
      metadata: { name: 'other', namespace: 'acme' },
      spec: { ...aSmartContract().spec, address: '0x12' },
    }),
  ),
  raw(
    'a quota below zero',
    'spec.quotas.paymasters must be',
    manifest(anOrganisation(), {
      metadata: { name: 'two' },
      spec: { namespace: 'two', quotas: { paymasters: -1 } },
    }),
  ),
  raw(
    'two profiles of one version',
    'spec.profiles must be a list in which no two profiles have the same version',
    manifest(aChain(), {
      metadata: { name: 'two' },
      spec: { ...aChain().spec, chainId: 2, profiles: [aProfile, aProfile] },
    }),
  ),

  // Mistakes that the operator reports in a condition of one object.
  wrong(
    'a method that the ABI lacks',
    'spec.whitelistedMethods[0] must be a method of the ABI',
    aSmartContract({ whitelistedMethods: ['brun'] }),
  ),
  wrong('an ABI that is not JSON', 'spec.abi must be', aSmartContract({ abi: 'function burn(uint256)' })),
  wrong(
    'a webhook at a private address',
    'spec.webhook.url must be a URL whose host is a public address',
    webhook('https://10.0.0.1/hook'),
  ),
  wrong(
    'a webhook without TLS',
    'spec.webhook.url must be an https URL',
    webhook('http://hooks.example.com/hook'),
  ),
  wrong(
    'a webhook with a password',
    'spec.webhook.url must be a URL without user name and password',
    webhook('https://me:secret@hooks.example.com/hook'),
  ),
  wrong(
    'a layout for another EntryPoint',
    'layout vendor-1.1.0 is for 0.6',
    aChain({ profiles: [{ ...aProfile, entryPoint: '0x0000000071727De22E5E9d8BAf0edAc6f37da032' }] }),
  ),
  wrong(
    'a budget of losses without a token mode',
    'spec.profiles[0].tokenLossBudget must be left out without addresses.token',
    aChain({ profiles: [{ ...aProfile, tokenLossBudget: '0.5' }] }),
  ),
  wrong(
    'a token mode that the layout lacks',
    'spec.profiles[1].addresses must be without token',
    aChain({
      profiles: [
        aProfile,
        {
          ...aProfile,
          version: 'v7',
          layout: 'verifying-0.7',
          entryPoint: '0x0000000071727De22E5E9d8BAf0edAc6f37da032',
          addresses: { ...aProfile.addresses, token: aProfile.addresses.sponsorship },
        },
      ],
    }),
  ),

  wrong(
    'an address with a wrong checksum',
    'spec.address must be an address whose upper and lower case is its EIP-55 checksum',
    aSmartContract({ address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD' }),
  ),

  // Mistakes that exist only together with another object.
  wrong(
    'a namespace without an Organisation',
    'No Organisation has spec.namespace "acme"',
    anOrganisation({ namespace: 'acne' }),
  ),
  wrong(
    'a chain that nobody offers',
    'No Chain with chainId 1 is offered; offered: 31337.',
    aPaymaster({ chainId: 1 }),
  ),
  wrong(
    'a chain that the Organisation may not use',
    'The Organisation may use the chains 1, not 31337',
    anOrganisation({ chains: [1] }),
  ),
  wrong(
    'a version that the chain lacks',
    'Chain 31337 has no version "2.0.0"; offered: 1.1.0.',
    aPaymaster({ version: '2.0.0' }),
  ),
  wrong(
    'a contract of no paymaster',
    'There is no Paymaster "shopp" in this namespace',
    aSmartContract({ paymasterRef: { name: 'shopp' } }),
  ),
  wrong(
    'a policy of no paymaster',
    'There is no Paymaster "shopp" in this namespace',
    aPolicy({ paymasterRef: { name: 'shopp' } }),
  ),
  wrong(
    'two paymasters of one name',
    'Paymaster shop has the name "Shop" on chain 31337',
    aPaymaster({ meta: { name: 'shop2' } }),
  ),
  wrong(
    'two contracts at one address',
    'SmartContract shop-nft has the address',
    aSmartContract({ meta: { name: 'shop-nft2' }, name: 'NFT2' }),
  ),
  wrong(
    'two contracts of one name',
    'SmartContract shop-nft has the name "NFT"',
    contract('twin', { name: 'NFT' }),
  ),
  wrong(
    'two policies of one name',
    'PaymasterPolicy shop-limit has the name "Daily"',
    aPolicy({ meta: { name: 'shop-limit2' } }),
  ),
  wrong('two chains of one id', 'Chain dev has the chainId 31337', aChain({ meta: { name: 'dev2' } })),
  wrong(
    'two Organisations of one namespace',
    'Organisation acme has the namespace "acme"',
    anOrganisation({ meta: { name: 'acme2' } }),
  ),
  wrong(
    'two fee tokens at one address',
    'FeeToken dev-usd has the address',
    aFeeToken(),
    aFeeToken({ meta: { name: 'dev-usd2' } }),
  ),
  wrong('a fee token on no chain', 'No Chain with chainId 5 is offered', aFeeToken({ chainId: 5 })),
  wrong(
    'more paymasters than the quota',
    'Only 1 paymasters are allowed by spec.quotas.paymasters of Organisation acme',
    anOrganisation({ quotas: { paymasters: 1 } }),
    aPaymaster({ meta: { name: 'shop2' }, name: 'Two' }),
  ),
  wrong(
    'more contracts than the quota',
    'Only 1 contracts per paymaster are allowed by spec.quotas.contractsPerPaymaster of Organisation acme',
    anOrganisation({ quotas: { contractsPerPaymaster: 1 } }),
    contract('twin'),
  ),
  wrong(
    'more policies than the quota',
    'Only 1 policies per paymaster are allowed by spec.quotas.policiesPerPaymaster of Organisation acme',
    anOrganisation({ quotas: { policiesPerPaymaster: 1 } }),
    aPolicy({ meta: { name: 'two' }, name: 'Two' }),
  ),
  wrong(
    'more limits than count',
    'A paymaster has at most 20 active spending limits',
    ...Array.from({ length: 20 }, (_, n) => aPolicy({ meta: { name: `z-${n}` }, name: `Limit ${n}` })),
  ),
  wrong(
    'a misspelt member of an expression',
    'spec.expression.text 1:16: a call has no "vale", only target, value, method, args',
    aPolicy({
      meta: { name: 'rule' },
      name: 'Rule',
      policyType: 'EXPRESSION',
      expression: { text: 'calls.all(c, c.vale == 0)' },
    }),
  ),
  wrong(
    'an expression about a method that no contract has',
    'no registered contract has the method "transfer(address,uint256)"',
    aPolicy({
      meta: { name: 'rule' },
      name: 'Rule',
      policyType: 'EXPRESSION',
      expression: { text: 'calls[0].method == "transfer(address,uint256)"' },
    }),
  ),
  wrong(
    'a funding wallet without a proof',
    'give message and signature in spec.funding',
    aPaymaster({ funding: { address: '0x00000000000000000000000000000000000000f9' } }),
  ),
  wrong(
    'no funding wallet at all',
    'Give spec.funding, or ask the platform for a default funding wallet',
    aChain({
      profiles: [
        {
          ...aProfile,
          defaultFunding: {
            address: '0x00000000000000000000000000000000000000f1',
            organisations: ['others'],
          },
        },
      ],
    }),
  ),
];

import { layoutIds } from '../paymaster/layout.js';
import { initCodeHashes } from '../paymaster/openzeppelin/options.js';
import { boolean, choice, integer, list, object, text, type Infer } from '../schema/structural.js';
import { address, coins, mountedFile } from '../meta/schema-parts.js';
import { version } from './schema-parts.js';

const signer = (description: string) =>
  object(description, {
    required: {
      file: mountedFile(
        'Key of the Secret that is mounted for signers (paymaster-signers), e.g. mainnet: it holds the private key, 0x and 64 hex digits, or says where the key is (docs/keys.md).',
      ),
    },
  });

const domainText = (description: string) => text(description, { minLength: 1, maxLength: 128 });

export const profile = object(
  'A paymaster contract that Paymasters of this chain may use.',
  {
    required: {
      version: version('Name by which a Paymaster chooses this profile, e.g. "2.0.0".'),
      layout: choice(
        'How the contract reads paymasterAndData. vendor-1.1.0: EntryPoint 0.6, a balance for each funding wallet; for accounts that are on 0.6 already. vendor-2.x: EntryPoint 0.7, the same; choose it where several teams pay from wallets of their own. singleton-0.6, -0.7, -0.8: one contract for both modes, one deposit for all; choose it where the platform pays, for token payments that are taken in validation, and for EntryPoint 0.8. verifying-0.7: the reference contract of EntryPoint 0.7, sponsorships only, one deposit for all; the smallest. verifying-0.9, hybrid-0.9: our contracts for EntryPoint 0.9, like verifying-0.7 and vendor-2.x. openzeppelin-0.7, -0.8, -0.9: PaymasterSigner of OpenZeppelin with an ECDSA signer, sponsorships only, one deposit for all; needs options.openZeppelin. Signing keys: singleton contracts accept several at once, vendor, hybrid-0.9 and verifying-0.9 contracts one that can be changed, verifying-0.7 the one of its constructor, so that a new key is a new contract; openzeppelin contracts as their deployer chose. It must be the layout of the deployed contract: condition HashMatches says whether it is.',
        layoutIds,
      ),
      entryPoint: address(
        'EntryPoint that the contract belongs to, e.g. 0x0000000071727De22E5E9d8BAf0edAc6f37da032 (0.7).',
      ),
      addresses: object('The contract of each mode; both may be the same.', {
        required: {
          sponsorship: address(
            'Contract of mode SPONSORED, e.g. 0x0293Ee1246D7c4Db95BB7E4c90996228393912eA.',
          ),
        },
        optional: {
          token: address(
            'Contract of mode ERC20, where the layout has that mode; often the same one, e.g. 0x0293Ee1246D7c4Db95BB7E4c90996228393912eA.',
          ),
        },
      }),
    },
    optional: {
      signer: signer(
        'Who signs; the contract must accept its address. Exactly one of signer and signers is given.',
      ),
      signers: list(
        'While keys are rotated: of these keys the first one that the contract accepts signs, switched as soon as the operator sees it. Put the new key in front, let the contract accept it, and take the old one away once what it has signed has expired.',
        signer('A key that may sign.'),
        { minItems: 1, maxItems: 8 },
      ),
      draining: boolean(
        'True: nothing is signed for longer than 30 seconds. For a contract that accepts one key at a time: what the old key has signed is void when the key changes, so drain first. Default false.',
      ),
      codeHash: text(
        'Hash of the code of the contracts of this profile (and of the code behind their proxies) that may be signed for, e.g. 0x2f0ae8fcd1bd0f1b9ac6cc6d1e2e6d0a1c0ef5cc1c4d3d8f6f1a8f35b6e1c7a0. Absent: the code that was seen first. When the code is another, condition CodeUnchanged shows its hash and nothing is signed; write that hash here once you know who changed the code and why.',
        {
          minLength: 66,
          maxLength: 66,
          pattern: '^0x[0-9a-f]{64}$',
          expected: '0x and 64 hex digits in lower case, as condition CodeUnchanged shows it',
        },
      ),
      defaultFunding: object('Funding wallet of Paymasters that name none.', {
        required: {
          address: address('Address of the wallet, e.g. 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed.'),
          organisations: list(
            'Namespaces that it pays for, e.g. [team-a, team-b]. "*" means all, also those of Organisations that are made later: condition OpenFunding warns of it outside of dev chains.',
            text('A namespace, e.g. team-a, or "*".', {
              maxLength: 63,
              pattern: '^([*]|[a-z0-9]([-a-z0-9]*[a-z0-9])?)$',
              expected: 'a namespace, or "*" for all',
            }),
            { maxItems: 1000 },
          ),
        },
      }),
      options: object('What some layouts need besides.', {
        optional: {
          priceMarkup: integer(
            'vendor-2.x, hybrid-0.9: what a sponsor is charged, e.g. 1100000 for 10 percent more than the gas. Default 1000000, no premium.',
            {
              minimum: 1_000_000,
              maximum: 2_000_000,
            },
          ),
          unaccountedGas: integer("vendor-2.x: the contract's unaccountedGas. Default 50000.", {
            minimum: 0,
            maximum: 10_000_000,
          }),
          treasury: address(
            'singleton layouts, mode ERC20: who receives the tokens, e.g. 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed.',
          ),
          openZeppelin: object(
            'openzeppelin layouts: what the deployer of the contract chose. Signatures are made for this EIP-712 domain; condition HashMatches says whether the contract answers it, and accepts what is signed.',
            {
              required: {
                domainName: domainText(
                  'name of eip712Domain() of the contract, e.g. MyPaymasterECDSASigner.',
                ),
                domainVersion: domainText('version of eip712Domain() of the contract, e.g. "1".'),
              },
              optional: {
                initCodeHash: choice(
                  'What is signed for the initCode of an EIP-7702 account. AsGiven: initCode with its marker 0x7702, as in release 5.7. Delegate: the delegate of the account instead of the marker, as in later releases. Default AsGiven.',
                  initCodeHashes,
                ),
                readsPaymasterSignature: boolean(
                  'EntryPoint 0.9: true where the contract overrides _decodePaymasterUserOp to take its signature from the end of paymasterAndData too, so that it can be made after that of the account. As published it does not. Default false.',
                ),
              },
            },
          ),
        },
      }),
      organisationShare: integer(
        'Percent of an account that the platform pays from (defaultFunding, or the deposit of a contract without balances per sponsor) which the operations of one organisation that are not mined yet may take; the same part of tokenLossBudget. Default 25, or 100 where defaultFunding lists one organisation only.',
        { minimum: 1, maximum: 100 },
      ),
      tokenPayment: choice(
        'singleton layouts, mode ERC20: preFund takes the tokens in validation where the account allows them already, so that the payment cannot be lost. The treasury must allow the contract to take back what was too much, and bundlers with the rules of ERC-7562 may refuse such operations. Default postOp.',
        ['postOp', 'preFund'],
      ),
      requireAllowance: boolean(
        'Mode ERC20: refuse payments that the contract cannot take in validation, i.e. those that draw on tokenLossBudget. An approve in the same operation is too late then. Default false.',
      ),
      tokenLossBudget: coins(
        'Mode ERC20: the most that operations which were mined and paid no token may cost in a day (UTC), in native coins. Payments that are not taken in validation are signed only while the unmined ones and the losses of the day stay within it. Zero stops them, e.g. "0.5". Default "0.1".',
      ),
    },
  },
  {
    rule: 'has(self.signer) != has(self.signers)',
    message: 'must be a profile with exactly one of signer and signers',
  },
  {
    rule: "self.layout in ['vendor-2.x', 'hybrid-0.9'] || !has(self.options) || !has(self.options.priceMarkup)",
    message: 'must be without priceMarkup: only the layouts vendor-2.x and hybrid-0.9 have it',
    fieldPath: '.options',
  },
  {
    rule: "self.layout == 'vendor-2.x' || !has(self.options) || !has(self.options.unaccountedGas)",
    message: 'must be without unaccountedGas: only the layout vendor-2.x has it',
    fieldPath: '.options',
  },
  {
    rule: "self.layout.startsWith('openzeppelin-') == (has(self.options) && has(self.options.openZeppelin))",
    message: 'must be with openZeppelin for the openzeppelin layouts, and without it for any other',
    fieldPath: '.options',
  },
  {
    rule: "self.layout == 'openzeppelin-0.9' || !has(self.options) || !has(self.options.openZeppelin) || !has(self.options.openZeppelin.readsPaymasterSignature) || !self.options.openZeppelin.readsPaymasterSignature",
    message:
      'must be without readsPaymasterSignature: EntryPoint 0.9 is the first with a signature of the paymaster',
    fieldPath: '.options',
  },
  {
    rule: "self.layout.startsWith('singleton-') || !has(self.options) || !has(self.options.treasury)",
    message: 'must be without treasury: only the singleton layouts have it',
    fieldPath: '.options',
  },
  {
    rule: 'has(self.addresses.token) || !has(self.tokenLossBudget)',
    message: 'must be left out without addresses.token: nothing is paid in tokens',
    fieldPath: '.tokenLossBudget',
  },
  {
    rule: 'has(self.addresses.token) || !has(self.requireAllowance)',
    message: 'must be left out without addresses.token: mode ERC20 needs it',
    fieldPath: '.requireAllowance',
  },
  {
    rule: "self.layout.startsWith('singleton-') || !has(self.tokenPayment) || self.tokenPayment == 'postOp'",
    message: 'must be postOp or left out: only the singleton layouts take tokens in advance so',
    fieldPath: '.tokenPayment',
  },
  {
    rule: "!has(self.addresses.token) || !(self.layout.startsWith('verifying-') || self.layout.startsWith('openzeppelin-'))",
    message: 'must be without token: the verifying and openzeppelin layouts have no token mode',
    fieldPath: '.addresses',
  },
);

export type ProfileSpec = Infer<typeof profile>;

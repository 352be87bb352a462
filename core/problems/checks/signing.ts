import type { Checks } from '../check.js';

/** What keeps a paymaster from signing: its key and its contract. */
export const signing = {
  'signer-missing': {
    severity: 'critical',
    what: 'A signing key is not mounted.',
    remedy: 'Add the key file to the Secret of the signers (docs/keys.md).',
    conditions: ['ResolvedRefs/SignerNotFound', 'SignerAuthorized/SignerNotFound'],
    readiness: ['signers'],
  },
  'signer-unusable': {
    severity: 'critical',
    what: 'The file of a signer is wrong, or its signer is away or refuses.',
    remedy: 'Do what the message says (docs/keys.md).',
    conditions: ['ResolvedRefs/SignerUnusable'],
    alert: 'PaymasterSignerUnavailable',
  },
  'signer-not-authorized': {
    severity: 'critical',
    what: 'The contract does not accept the signing key.',
    remedy: '`paymaster contract authorise`, or mount the key that the contract accepts.',
    conditions: ['SignerAuthorized/NotAuthorized'],
    alert: 'PaymasterSigningStopped',
  },
  'master-keys-refused': {
    severity: 'critical',
    what: 'A change of the master keys is not applied.',
    remedy: 'See docs/key-rotation.md.',
    conditions: ['MasterKeys/Refused'],
    alert: 'PaymasterMasterKeysNotApplied',
    isOfPlatform: true,
  },
  'contract-unusable': {
    severity: 'critical',
    what: 'The paymaster contract on chain is not as its profile says.',
    remedy: 'Correct the profile, or what the message names on chain.',
    conditions: [
      'CodePresent/NoCode',
      'EntryPointMatches/OtherEntryPoint',
      'HashMatches/OtherHash',
      'HashMatches/OtherInitCodeHash',
      'HashMatches/TailNotRead',
      'CodeUnchanged/CodeChanged',
      'Serving/ContractUnusable',
    ],
    alert: 'PaymasterSigningStopped',
  },
  'contract-without-code': {
    severity: 'warning',
    what: 'A registered contract has no code on the chain.',
    conditions: ['ContractCode/NoCode'],
  },
  'stake-missing': {
    severity: 'warning',
    what: 'The contract has no stake that bundlers accept.',
    conditions: ['Staked/Unstaked', 'Staked/TooLow', 'Staked/Unlocked'],
  },
} as const satisfies Checks;

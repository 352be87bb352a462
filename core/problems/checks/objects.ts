import type { Checks } from '../check.js';

/** What is wrong with what people wrote, or may be meant so. */
export const objects = {
  'no-organisation': {
    severity: 'critical',
    what: 'No Organisation names the namespace of an object, or no Organisation exists.',
    remedy: 'Apply an Organisation whose `spec.namespace` is that of the paymasters.',
    conditions: ['Accepted/NoOrganisation'],
  },
  'no-access': {
    severity: 'warning',
    what: 'The dashboard may not work in the namespace of an Organisation.',
    remedy: 'Do what the message says; paymasters that are served stay served.',
    conditions: [
      'DashboardAccess/NamespaceNotFound',
      'DashboardAccess/NamespaceNotLabelled',
      'DashboardAccess/NotOurs',
    ],
  },
  'object-invalid': {
    severity: 'warning',
    what: 'A field is wrong; what was in force before stays in force.',
    conditions: ['Accepted/Invalid', 'Accepted/BadChecksum'],
  },
  'not-allowed': {
    severity: 'warning',
    what: 'An object is beyond what the Organisation may have, or counts twice.',
    remedy: 'Delete what is not needed, or ask the platform.',
    conditions: [
      'Accepted/NameConflict',
      'Accepted/ChainNotAllowed',
      'Accepted/QuotaExceeded',
      'Accepted/TooMany',
    ],
  },
  'reference-missing': {
    severity: 'warning',
    what: 'An object names a chain, version or paymaster that is not there, or cannot do what it asks for.',
    remedy: 'Correct the name, or create what it names.',
    conditions: [
      'ResolvedRefs/ChainNotFound',
      'ResolvedRefs/VersionNotFound',
      'ResolvedRefs/AccountSignatureUnsupported',
      'ResolvedRefs/PaymasterNotFound',
      'ResolvedRefs/PaymasterDeleted',
    ],
  },
  'policy-invalid': {
    severity: 'critical',
    what: 'An active policy has never been valid, so every request is refused.',
    conditions: ['Ready/PolicyInvalid'],
  },
  'not-programmed': {
    severity: 'critical',
    what: 'An object is too large for the served configuration, or its store refused it.',
    remedy: 'Register fewer contracts or methods; else read the log of the operator.',
    conditions: ['Programmed/TooLarge', 'Programmed/StoreRejected'],
    alert: 'PaymasterReconcileErrors',
  },
  'secret-not-written': {
    severity: 'warning',
    what: 'The connection Secret of a paymaster is not up to date.',
    remedy: 'Name another Secret, label the namespace as the message says, or read the log of the operator.',
    conditions: ['ConnectionSecret/NotOurs', 'ConnectionSecret/NotAllowed', 'ConnectionSecret/WriteFailed'],
  },
  'shadow-unread': {
    severity: 'note',
    what: 'More paymasters have their list of contracts in Shadow than are looked at.',
    remedy: 'Look at `groupBy=wouldRefuse` of the usage of each of the others.',
  },
  'caps-limited': {
    severity: 'note',
    what: "A cap is wider than the platform's, which counts instead.",
    conditions: ['CapsLimited/WiderThanPlatform'],
  },
  'functions-ignored': {
    severity: 'note',
    what: 'A row of accountFunctions has no effect.',
    conditions: ['FunctionsIgnored/NoEffect'],
  },
  'address-checksum': {
    severity: 'note',
    what: 'An address in use is not its EIP-55 checksum.',
    remedy: 'Copy the address again from its source.',
    conditions: ['AddressChecksum/Wrong'],
  },
  deleting: {
    severity: 'note',
    what: 'An object is being deleted and counts as absent, while a finalizer keeps it.',
    conditions: ['Ready/Deleting'],
  },
  suspended: {
    severity: 'note',
    what: 'A paymaster or its chain is suspended.',
    conditions: ['Ready/Suspended'],
  },
} as const satisfies Checks;

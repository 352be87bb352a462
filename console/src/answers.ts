// Written by `make generate` from what the endpoints describe: do not edit.
/** What endpoints answer, by operationId. */
export type Answers = {
  readonly createFundingMessage: {
    readonly message: string;
    readonly expiresAt: string;
  };
  readonly createToken: {
    readonly name: string;
    readonly scopes: readonly ('read' | 'stop' | 'finance' | 'write')[];
    readonly expiresAt: string | null;
    readonly createdBy: string | null;
    readonly endsWith: string | null;
    readonly token: string;
  };
  readonly getDecision: {
    readonly id: string;
    readonly at: string;
    readonly verdict: 'sponsored' | 'refused' | 'committed';
    readonly reason: string | null;
    readonly detail: string | null;
    readonly method: string;
    readonly requestId: string;
    readonly callerRequestId: string | null;
    readonly paymasterId: string;
    readonly paymaster: string | null;
    readonly chainId: number;
    readonly mode: 'SPONSORED' | 'ERC20' | null;
    readonly entryPoint: string;
    readonly contract: string | null;
    readonly fundingAddress: string | null;
    readonly sender: string;
    readonly nonce: string;
    readonly userOpHash: string | null;
    readonly calls: readonly {
      readonly target: string;
      readonly selector: string;
      readonly name: string | null;
      readonly contractId: string | null;
    }[];
    readonly policies: readonly {
      readonly policyId: string;
      readonly effect: 'counted' | 'refused' | 'would_refuse';
    }[];
    readonly campaign: string | null;
    readonly key: string | null;
    readonly maxCostWei: string | null;
    readonly maxCost: string | null;
    readonly validUntil: string | null;
    readonly token: string | null;
    readonly settlement: null | {
      readonly outcome: 'mined' | 'expired' | 'spent-elsewhere';
      readonly at: string;
      readonly transactionHash: string | null;
      readonly actualGasCostWei: string;
      readonly actualGasCost: string;
      readonly actualGasUsed: string;
      readonly success: boolean | null;
      readonly blockNumber: number | null;
      readonly blockHash: string | null;
      readonly logIndex: number | null;
      readonly token: null | {
        readonly address: string;
        readonly amount: string;
        readonly decimals: number | null;
        readonly rendered: string | null;
      };
      readonly takenBack: number;
    };
    readonly trace: readonly {
      readonly step: 'suspended' | 'sender' | 'accountSignature' | 'funding' | 'policies' | 'campaign' | 'calls' | 'deployment' | 'window' | 'senders' | 'factory' | 'delegate' | 'authorization' | 'fees' | 'tip' | 'gas' | 'costPerOperation' | 'expressions' | 'webhooks' | 'limitsAndDeposit' | 'token' | 'price' | 'charge' | 'lossesAndDeposit' | 'payment' | 'accountValidation' | 'commit' | 'policy' | 'decision';
      readonly verdict: 'pass' | 'refuse' | 'undecided' | 'counted' | 'refused' | 'would_refuse' | 'sponsored' | 'committed';
      readonly policyId?: string;
      readonly reason?: string;
      readonly detail?: string;
      readonly remedy?: string;
    }[];
  };
  readonly getFunds: {
    readonly items: readonly {
      readonly account: string;
      readonly kind: 'deposit' | 'wallet';
      readonly contract: string;
      readonly chainId: number;
      readonly balanceWei: string | null;
      readonly balance: string | null;
      readonly balanceUsd: string | null;
      readonly promisedWei: string;
      readonly promised: string;
      readonly promisedUsd: string | null;
      readonly burnWeiPerHour: string;
      readonly burnPerHour: string;
      readonly burnUsdPerHour: string | null;
      readonly hoursLeft: number | null;
      readonly usdPerCoin: string | null;
      readonly pricedAt: string | null;
      readonly paymasters: readonly string[];
    }[];
    readonly nextCursor: string | null;
  };
  readonly getLimits: {
    readonly items: readonly {
      readonly paymasterId: string;
      readonly paymaster: string;
      readonly policy: string;
      readonly name: string;
      readonly scope: 'PAYMASTER' | 'SMART_ACCOUNT' | 'ORGANISATION';
      readonly unit: 'COUNT' | 'NATIVE_ASSET' | 'USD';
      readonly threshold: number | string | null;
      readonly used: number | string | null;
      readonly reserved: number | string | null;
      readonly remaining: number | string | null;
      readonly resetsAt: string | null;
      readonly rendered: null | {
        readonly threshold: string;
        readonly used: string | null;
        readonly reserved: string | null;
        readonly remaining: string | null;
      };
    }[];
    readonly nextCursor: string | null;
  };
  readonly getMe: {
    readonly organisation: {
      readonly name: string;
      readonly namespace: string;
      readonly organisationId: string;
    };
    readonly token: {
      readonly name: string;
      readonly scopes: readonly ('read' | 'stop' | 'finance' | 'write')[];
      readonly expiresAt: string | null;
    };
  };
  readonly getPaymasterKey: {
    readonly key: string;
    readonly generation: number;
    readonly previousKeyUntil: string | null;
  };
  readonly getPaymasterPolicyKey: {
    readonly key: string;
    readonly generation: number;
    readonly previousKeyUntil: string | null;
  };
  readonly getUsage: {
    readonly from: string;
    readonly to: string;
    readonly step: 'minute' | 'hour' | 'day' | 'month';
    readonly groupBy: 'paymaster' | 'policy' | 'wouldRefuse' | 'campaign' | 'key' | 'contract' | 'method' | 'sender' | 'reason' | 'mode' | 'chain' | 'label' | null;
    readonly additive: boolean;
    readonly items: readonly {
      readonly from: string;
      readonly to: string;
      readonly group: string | null;
      readonly name: string | null;
      readonly labels: Readonly<Record<string, string>> | null;
      readonly asks: number;
      readonly sponsored: number;
      readonly refused: number;
      readonly mined: number;
      readonly reverted: number;
      readonly expired: number;
      readonly promisedWei: string;
      readonly promised: string;
      readonly spentWei: string;
      readonly spent: string;
      readonly spentUsd: string | null;
      readonly unpricedWei: string | null;
      readonly oldestPriceSeconds: number | null;
      readonly tokens: readonly {
        readonly address: string;
        readonly amount: string;
        readonly decimals: number | null;
        readonly rendered: string | null;
      }[];
      readonly method: string | null;
    }[];
    readonly nextCursor: string | null;
  };
  readonly listChains: {
    readonly items: readonly {
      readonly chainId: number;
      readonly name: string;
      readonly symbol: string;
      readonly explorer: string | null;
      readonly suspended: boolean;
      readonly versions: readonly {
        readonly version: string;
        readonly entryPoint: string;
        readonly address: string;
      }[];
    }[];
    readonly nextCursor: string | null;
  };
  readonly listChanges: {
    readonly items: readonly {
      readonly id: string;
      readonly at: string;
      readonly action: 'created' | 'changed' | 'deleted';
      readonly kind: 'Chain' | 'FeeToken' | 'Organisation' | 'Paymaster' | 'SmartContract' | 'PaymasterPolicy' | 'DashboardToken';
      readonly namespace: string;
      readonly name: string;
      readonly uid: string;
      readonly generation: number;
      readonly actor: string;
      readonly requestId: string;
      readonly leftOut: number;
      readonly fields: readonly {
        readonly field: string;
        readonly before: string | null;
        readonly after: string | null;
      }[];
    }[];
    readonly nextCursor: string | null;
  };
  readonly listDecisions: {
    readonly from: string;
    readonly to: string;
    readonly items: readonly {
      readonly id: string;
      readonly at: string;
      readonly verdict: 'sponsored' | 'refused' | 'committed';
      readonly reason: string | null;
      readonly detail: string | null;
      readonly method: string;
      readonly requestId: string;
      readonly callerRequestId: string | null;
      readonly paymasterId: string;
      readonly paymaster: string | null;
      readonly chainId: number;
      readonly mode: 'SPONSORED' | 'ERC20' | null;
      readonly entryPoint: string;
      readonly contract: string | null;
      readonly fundingAddress: string | null;
      readonly sender: string;
      readonly nonce: string;
      readonly userOpHash: string | null;
      readonly calls: readonly {
        readonly target: string;
        readonly selector: string;
        readonly name: string | null;
        readonly contractId: string | null;
      }[];
      readonly policies: readonly {
        readonly policyId: string;
        readonly effect: 'counted' | 'refused' | 'would_refuse';
      }[];
      readonly campaign: string | null;
      readonly key: string | null;
      readonly maxCostWei: string | null;
      readonly maxCost: string | null;
      readonly validUntil: string | null;
      readonly token: string | null;
      readonly settlement: null | {
        readonly outcome: 'mined' | 'expired' | 'spent-elsewhere';
        readonly at: string;
        readonly transactionHash: string | null;
        readonly actualGasCostWei: string;
        readonly actualGasCost: string;
        readonly actualGasUsed: string;
        readonly success: boolean | null;
        readonly blockNumber: number | null;
        readonly blockHash: string | null;
        readonly logIndex: number | null;
        readonly token: null | {
          readonly address: string;
          readonly amount: string;
          readonly decimals: number | null;
          readonly rendered: string | null;
        };
        readonly takenBack: number;
      };
    }[];
    readonly nextCursor: string | null;
  };
  readonly listFeeTokens: {
    readonly versions: readonly string[];
    readonly items: readonly {
      readonly name: string;
      readonly symbol: string;
      readonly address: string;
      readonly decimals: number;
      readonly premiumPercentage: string;
      readonly priceSource: string;
      readonly isUsable: boolean;
      readonly problems: readonly {
        readonly check: 'no-organisation' | 'no-access' | 'object-invalid' | 'not-allowed' | 'reference-missing' | 'policy-invalid' | 'not-programmed' | 'secret-not-written' | 'shadow-unread' | 'caps-limited' | 'functions-ignored' | 'address-checksum' | 'deleting' | 'suspended' | 'signer-missing' | 'signer-unusable' | 'signer-not-authorized' | 'master-keys-refused' | 'contract-unusable' | 'contract-without-code' | 'stake-missing' | 'deposit-empty' | 'deposit-promised' | 'deposit-low' | 'no-funding-wallet' | 'open-funding' | 'open-sponsorship' | 'no-limit' | 'usage-lost' | 'limit-full' | 'shadow-refuses-much' | 'token-loss' | 'token-unsecured' | 'chain-away' | 'wrong-chain' | 'chain-not-followed' | 'nothing-to-serve' | 'clock-ahead' | 'clock-skew' | 'price-unusable' | 'price-jump' | 'no-native-price' | 'data-fee-unknown' | 'database-away' | 'database-lost' | 'loss-accepted' | 'stale-replica' | 'api-server-away' | 'replica-not-ready' | 'nothing-served' | 'operator-away' | 'not-seen-yet' | 'webhook-failing';
        readonly severity: 'critical' | 'warning' | 'note';
        readonly noun: 'chains' | 'feetokens' | 'organisations' | 'paymasters' | 'contracts' | 'policies' | 'tokens' | 'processes' | 'installation';
        readonly namespace: string | null;
        readonly name: string;
        readonly displayName: string;
        readonly condition: string | null;
        readonly reason: string | null;
        readonly meaning: string;
        readonly remedy: string;
        readonly message: string;
        readonly since: string | null;
        readonly isCurrent: boolean;
        readonly runbook: string;
      }[];
    }[];
    readonly nextCursor: string | null;
  };
  readonly listNotifications: {
    readonly items: readonly {
      readonly name: string;
      readonly format: string;
      readonly events: readonly ('deposit.low' | 'limit.nearly' | 'limit.reached' | 'refusals.rising' | 'paymaster.notServing' | 'key.expiring' | 'webhook.failing' | 'price.jumped')[];
      readonly host: string | null;
      readonly failingSince: string | null;
      readonly failure: string | null;
    }[];
    readonly nextCursor: string | null;
  };
  readonly listObjectsContract: {
    readonly items: readonly {
      readonly name: string;
      readonly id: string;
      readonly labels: Readonly<Record<string, string>>;
      readonly uid: string;
      readonly generation: number;
      readonly createdAt: string;
      readonly createdBy: string;
      readonly managedBy: readonly {
        readonly manager: string;
        readonly fields: readonly string[];
      }[];
      readonly spec: {
        readonly paymasterRef: {
          readonly name: string;
        };
        readonly name: string;
        readonly address: string;
        readonly abi: string;
        readonly active?: boolean;
        readonly whitelistedMethods?: readonly string[];
      };
      readonly status: {
        readonly observedGeneration?: number;
        readonly conditions?: readonly {
          readonly type: string;
          readonly status: 'True' | 'False' | 'Unknown';
          readonly reason: string;
          readonly message: string;
          readonly observedGeneration: number;
          readonly lastTransitionTime: string;
        }[];
        readonly active?: boolean;
        readonly methods?: readonly string[];
        readonly selectors?: readonly string[];
      };
    }[];
    readonly nextCursor: string | null;
  };
  readonly listObjectsPaymaster: {
    readonly items: readonly ({
      readonly name: string;
      readonly id: string;
      readonly labels: Readonly<Record<string, string>>;
      readonly uid: string;
      readonly generation: number;
      readonly createdAt: string;
      readonly createdBy: string;
      readonly managedBy: readonly {
        readonly manager: string;
        readonly fields: readonly string[];
      }[];
      readonly spec: {
        readonly name: string;
        readonly chainId: number;
        readonly type: 'HYBRID';
        readonly version: string;
        readonly suspended?: boolean;
        readonly funding?: {
          readonly address: string;
          readonly message?: string;
        };
        readonly keyGeneration?: number;
        readonly previousKeyUntil?: string;
        readonly keys?: readonly {
          readonly name: string;
          readonly generation?: number;
          readonly expiresAt?: string;
          readonly cidrs?: readonly string[];
          readonly rateLimit?: {
            readonly requests: number;
            readonly perSeconds: number;
          };
          readonly campaign?: string;
        }[];
        readonly defaultContractAction?: 'Allow' | 'Deny';
        readonly gas?: {
          readonly maxFeePerGas?: string;
          readonly maxPriorityFeePerGas?: string;
          readonly maxCallGasLimit?: number;
          readonly maxVerificationGasLimit?: number;
          readonly maxDeploymentGas?: number;
          readonly maxPreVerificationGas?: number;
          readonly maxOperationGas?: number;
          readonly maxUnusedGasFee?: string;
        };
        readonly maxExpirySeconds?: number;
        readonly accountFactories?: readonly string[];
        readonly accountFunctions?: readonly {
          readonly signature: string;
          readonly shape: 'call' | 'call-struct' | 'call-or-delegate-call' | 'batch' | 'batch-without-values' | 'batch-of-structs' | 'batch-of-structs-and-flag';
        }[];
        readonly contractsEnforcement?: 'Enforce' | 'Shadow';
        readonly withoutCampaign?: 'Allow' | 'Deny';
        readonly requireAccountSignature?: boolean;
        readonly allowedOrigins?: readonly string[];
        readonly rateLimit?: {
          readonly perKey?: {
            readonly requests: number;
            readonly perSeconds: number;
          };
          readonly perClient?: {
            readonly requests: number;
            readonly perSeconds: number;
          };
        };
        readonly sponsor?: {
          readonly name: string;
          readonly icon?: string;
        };
        readonly writeConnectionSecretToRef?: {
          readonly name: string;
        };
      };
      readonly status: {
        readonly observedGeneration?: number;
        readonly conditions?: readonly {
          readonly type: string;
          readonly status: 'True' | 'False' | 'Unknown';
          readonly reason: string;
          readonly message: string;
          readonly observedGeneration: number;
          readonly lastTransitionTime: string;
        }[];
        readonly paymasterId?: string;
        readonly address?: string;
        readonly tokenAddress?: string;
        readonly tenantGeneration?: number;
        readonly keyGeneration?: number;
        readonly apiKeyFingerprint?: string;
        readonly keys?: readonly {
          readonly name: string;
          readonly generation: number;
          readonly fingerprint: string;
        }[];
        readonly contracts?: number;
        readonly policies?: number;
      };
    } | {
      readonly name: string;
      readonly id: string;
      readonly spec: {
        readonly name: string;
        readonly chainId: number;
        readonly suspended?: boolean;
      };
    })[];
    readonly nextCursor: string | null;
  };
  readonly listObjectsPolicy: {
    readonly items: readonly {
      readonly name: string;
      readonly id: string;
      readonly labels: Readonly<Record<string, string>>;
      readonly uid: string;
      readonly generation: number;
      readonly createdAt: string;
      readonly createdBy: string;
      readonly managedBy: readonly {
        readonly manager: string;
        readonly fields: readonly string[];
      }[];
      readonly spec: {
        readonly paymasterRef: {
          readonly name: string;
        };
        readonly name: string;
        readonly policyType: 'PAYMASTER_SA_LIMIT' | 'WEBHOOK' | 'WALLET_DEPLOYMENT' | 'WINDOW' | 'SENDERS' | 'EXPRESSION';
        readonly active?: boolean;
        readonly enforcement?: 'Enforce' | 'Shadow';
        readonly campaign?: string;
        readonly spendingLimit?: {
          readonly scope: 'PAYMASTER' | 'SMART_ACCOUNT';
          readonly thresholdType: 'COUNT' | 'NATIVE_ASSET' | 'USD';
          readonly threshold?: string;
          readonly perOperation?: string;
          readonly cycleDuration?: {
            readonly value: number;
            readonly unit: 'hour' | 'day';
          };
          readonly calendar?: {
            readonly every: 'day' | 'week' | 'month';
            readonly timeZone: string;
          };
          readonly never?: Readonly<Record<string, unknown>>;
          readonly restartedAt?: string;
          readonly keepCount?: boolean;
          readonly assumeUsed?: string;
          readonly startTime?: string;
        };
        readonly webhook?: {
          readonly url: string;
          readonly method?: 'POST' | 'GET';
          readonly onError?: 'Deny' | 'Allow';
          readonly timeoutSeconds?: number;
          readonly keyGeneration?: number;
          readonly previousKeyUntil?: string;
        };
        readonly walletDeployment?: Readonly<Record<string, unknown>>;
        readonly window?: {
          readonly from?: string;
          readonly until?: string;
          readonly appliesTo?: readonly ('SPONSORED' | 'ERC20')[];
        };
        readonly senders?: {
          readonly action: 'Allow' | 'Deny';
          readonly addresses: readonly string[];
          readonly appliesTo?: readonly ('SPONSORED' | 'ERC20')[];
        };
        readonly expression?: {
          readonly text: string;
          readonly allowNoCalls?: boolean;
          readonly appliesTo?: readonly ('SPONSORED' | 'ERC20')[];
        };
      };
      readonly status: {
        readonly observedGeneration?: number;
        readonly conditions?: readonly {
          readonly type: string;
          readonly status: 'True' | 'False' | 'Unknown';
          readonly reason: string;
          readonly message: string;
          readonly observedGeneration: number;
          readonly lastTransitionTime: string;
        }[];
        readonly active?: boolean;
        readonly policyId?: string;
        readonly cycle?: {
          readonly startTime: string;
          readonly scope: 'PAYMASTER' | 'SMART_ACCOUNT';
          readonly threshold: string;
          readonly thresholdType: 'COUNT' | 'NATIVE_ASSET' | 'USD';
          readonly durationMs?: number;
          readonly calendar?: {
            readonly every: 'day' | 'week' | 'month';
            readonly timeZone: string;
          };
          readonly assumeUsed?: string;
          readonly specAssumeUsed?: string;
          readonly specStartTime?: string;
        };
      };
      readonly rules?: readonly {
        readonly policyType: string;
        readonly name: string;
        readonly enforcement: 'Enforce' | 'Shadow';
        readonly appliesTo: readonly ('SPONSORED' | 'ERC20')[];
        readonly says: string;
        readonly policyId?: string;
        readonly campaign?: string;
        readonly verdict?: 'pass' | 'refuse';
        readonly remaining?: string;
        readonly turnsAt?: string;
      }[];
    }[];
    readonly nextCursor: string | null;
  };
  readonly listPaymasterKeys: {
    readonly items: readonly {
      readonly name: string;
      readonly generation: number;
      readonly expiresAt: string | null;
      readonly cidrs: readonly string[] | null;
      readonly rateLimit: null | {
        readonly requests: number;
        readonly perSeconds: number;
      };
      readonly campaign: string | null;
      readonly fingerprint: string;
    }[];
    readonly nextCursor: string | null;
  };
  readonly listProblems: {
    readonly complete: boolean;
    readonly items: readonly {
      readonly check: 'no-organisation' | 'no-access' | 'object-invalid' | 'not-allowed' | 'reference-missing' | 'policy-invalid' | 'not-programmed' | 'secret-not-written' | 'shadow-unread' | 'caps-limited' | 'functions-ignored' | 'address-checksum' | 'deleting' | 'suspended' | 'signer-missing' | 'signer-unusable' | 'signer-not-authorized' | 'master-keys-refused' | 'contract-unusable' | 'contract-without-code' | 'stake-missing' | 'deposit-empty' | 'deposit-promised' | 'deposit-low' | 'no-funding-wallet' | 'open-funding' | 'open-sponsorship' | 'no-limit' | 'usage-lost' | 'limit-full' | 'shadow-refuses-much' | 'token-loss' | 'token-unsecured' | 'chain-away' | 'wrong-chain' | 'chain-not-followed' | 'nothing-to-serve' | 'clock-ahead' | 'clock-skew' | 'price-unusable' | 'price-jump' | 'no-native-price' | 'data-fee-unknown' | 'database-away' | 'database-lost' | 'loss-accepted' | 'stale-replica' | 'api-server-away' | 'replica-not-ready' | 'nothing-served' | 'operator-away' | 'not-seen-yet' | 'webhook-failing';
      readonly severity: 'critical' | 'warning' | 'note';
      readonly noun: 'chains' | 'feetokens' | 'organisations' | 'paymasters' | 'contracts' | 'policies' | 'tokens' | 'processes' | 'installation';
      readonly namespace: string | null;
      readonly name: string;
      readonly displayName: string;
      readonly condition: string | null;
      readonly reason: string | null;
      readonly meaning: string;
      readonly remedy: string;
      readonly message: string;
      readonly since: string | null;
      readonly isCurrent: boolean;
      readonly runbook: string;
    }[];
    readonly nextCursor: string | null;
  };
  readonly listRules: {
    readonly items: readonly {
      readonly policyType: string;
      readonly name: string;
      readonly enforcement: 'Enforce' | 'Shadow';
      readonly appliesTo: readonly ('SPONSORED' | 'ERC20')[];
      readonly says: string;
      readonly policyId?: string;
      readonly campaign?: string;
      readonly verdict?: 'pass' | 'refuse';
      readonly remaining?: string;
      readonly turnsAt?: string;
    }[];
    readonly nextCursor: string | null;
  };
  readonly listStatements: {
    readonly month: string;
    readonly from: string;
    readonly to: string;
    readonly items: readonly {
      readonly account: string;
      readonly kind: 'deposit' | 'wallet';
      readonly contract: string;
      readonly chainId: number;
      readonly lines: readonly {
        readonly line: 'opening' | 'deposits' | 'withdrawals' | 'mined' | 'losses' | 'minedByOthers' | 'lossesOfOthers' | 'burnt' | 'others' | 'closing';
        readonly paymasterId: string | null;
        readonly paymaster: string | null;
        readonly amountWei: string | null;
        readonly amount: string | null;
        readonly usd: string | null;
        readonly unpricedWei: string;
        readonly oldestPriceSeconds: number;
        readonly count: number;
        readonly blockNumber: number | null;
        readonly source: string;
        readonly note: string | null;
      }[];
      readonly transfers: readonly {
        readonly kind: 'deposit' | 'withdrawal';
        readonly at: string;
        readonly blockNumber: number;
        readonly transactionHash: string | null;
        readonly count: number;
        readonly amountWei: string | null;
        readonly amount: string | null;
      }[];
      readonly unreadBlocks: readonly {
        readonly fromBlock: number;
        readonly toBlock: number;
      }[];
    }[];
    readonly nextCursor: string | null;
    readonly prices: readonly {
      readonly chainId: number;
      readonly hour: string;
      readonly usdPerCoin: string;
      readonly pricedAt: string;
    }[];
  };
  readonly listTokens: {
    readonly items: readonly {
      readonly name: string;
      readonly scopes: readonly ('read' | 'stop' | 'finance' | 'write')[];
      readonly expiresAt: string | null;
      readonly createdBy: string | null;
      readonly endsWith: string | null;
      readonly lastUsedAt: string | null;
    }[];
    readonly nextCursor: string | null;
  };
  readonly rotatePaymasterKey: {
    readonly key: string;
    readonly generation: number;
    readonly previousKeyUntil: string | null;
  };
  readonly showPaymasterKey: {
    readonly name: string;
    readonly generation: number;
    readonly expiresAt: string | null;
    readonly cidrs: readonly string[] | null;
    readonly rateLimit: null | {
      readonly requests: number;
      readonly perSeconds: number;
    };
    readonly campaign: string | null;
    readonly fingerprint: string;
    readonly key: string;
  };
  readonly testNotification: {
    readonly delivered: boolean;
    readonly detail: string | null;
  };
  readonly testPolicyWebhook: {
    readonly verdict: 'verified' | 'refused' | 'failed' | 'blocked';
    readonly wouldPass: boolean;
    readonly durationMs: number;
    readonly requestId: string;
    readonly reason?: string;
    readonly detail?: string;
  };
  readonly whatIf: {
    readonly paymasterId: string;
    readonly since: string;
    readonly judged: number;
    readonly stillSigned: number;
    readonly wouldBeRefused: {
      readonly count: number;
      readonly byReasonAndDay: readonly {
        readonly reason: string;
        readonly day: string;
        readonly count: number;
      }[];
      readonly examples: readonly {
        readonly reason: string;
        readonly decision: string;
        readonly sender: string;
        readonly detail: string;
        readonly policyId: string | null;
      }[];
    };
    readonly wouldPass: {
      readonly count: number;
      readonly byReasonAndDay: readonly {
        readonly reason: string;
        readonly day: string;
        readonly count: number;
      }[];
      readonly examples: readonly {
        readonly reason: string;
        readonly decision: string;
        readonly sender: string;
        readonly detail: string;
        readonly policyId: string | null;
      }[];
    };
    readonly stillRefused: number;
    readonly unknown: {
      readonly count: number;
      readonly byReasonAndDay: readonly {
        readonly reason: string;
        readonly day: string;
        readonly count: number;
      }[];
      readonly examples: readonly {
        readonly reason: string;
        readonly decision: string;
        readonly sender: string;
        readonly detail: string;
        readonly policyId: string | null;
      }[];
    };
    readonly gaps: readonly {
      readonly cause: 'rate' | 'space' | 'signed';
      readonly reason: string | null;
      readonly count: number;
    }[];
    readonly notJudged: readonly {
      readonly rule: 'webhook' | 'expression' | 'budget' | 'gasCaps' | 'factories' | 'sharesAndDeposits';
      readonly name: string | null;
    }[];
  };
};

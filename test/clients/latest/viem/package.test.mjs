import * as viem from 'viem';
import * as accountAbstraction from 'viem/account-abstraction';
import * as accounts from 'viem/accounts';
import * as chains from 'viem/chains';
import * as ours from '@paymaster-operator/viem';
import { viemPackageTests } from '../../viem-package.mjs';

viemPackageTests({ viem, accountAbstraction, accounts, chains, ours });

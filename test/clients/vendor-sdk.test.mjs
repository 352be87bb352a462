import { createRequire } from 'node:module';
import { vendorPaymasterTests } from './vendor-paymaster.mjs';

vendorPaymasterTests(createRequire(import.meta.url)('@biconomy/account'));

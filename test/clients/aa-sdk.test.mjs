import * as core from '@aa-sdk/core';
import * as infra from '@account-kit/infra';
import { aaSdkTests } from './aa-sdk.mjs';

aaSdkTests(core, infra);

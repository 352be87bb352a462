// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

import {PackedUserOperation} from "@openzeppelin/contracts/interfaces/IERC4337.sol";
import {ECDSA} from "solady/src/utils/ECDSA.sol";
import {LibClone} from "solady/src/utils/LibClone.sol";

// Contracts of our own in the shapes of accounts whose code no package has: their factories, what their clients sign, the functions
// with which they make calls. Only what an operation takes: nobody can change owners, and no module but the first one is installed.

address constant ENTRY_POINT_06 = 0x5FF137D4b0FDCD49DcA30c7CF57E578a026d2789;
address constant ENTRY_POINT_07 = 0x0000000071727De22E5E9d8BAf0edAc6f37da032;

struct Call {
    address to;
    uint256 value;
    bytes data;
}

/// Of EntryPoint 0.6.
struct UserOperation {
    address sender;
    uint256 nonce;
    bytes initCode;
    bytes callData;
    uint256 callGasLimit;
    uint256 verificationGasLimit;
    uint256 preVerificationGas;
    uint256 maxFeePerGas;
    uint256 maxPriorityFeePerGas;
    bytes paymasterAndData;
    bytes signature;
}

/// 0 where `owner` has signed, else what the EntryPoint takes for a wrong signature.
function failureUnlessBy(address owner, bytes32 hash, bytes memory signature) view returns (uint256) {
    return ECDSA.tryRecover(hash, signature) == owner ? 0 : 1;
}

function makeCall(address to, uint256 value, bytes memory data) {
    (bool success, bytes memory answer) = to.call{value: value}(data);
    if (success) return;
    assembly ("memory-safe") {
        revert(add(answer, 32), mload(answer))
    }
}

/// Mode 00 is one call, 01 several.
function executionsOf(bytes32 mode, bytes calldata data) pure returns (Call[] memory calls) {
    if (mode[0] == 0x01) return abi.decode(data, (Call[]));
    require(mode[0] == 0x00);
    calls = new Call[](1);
    calls[0] = Call(address(bytes20(data[:20])), uint256(bytes32(data[20:52])), data[52:]);
}

abstract contract Account {
    address private immutable ENTRY_POINT;

    constructor(address entryPoint) {
        ENTRY_POINT = entryPoint;
    }

    modifier onlyEntryPoint() {
        require(msg.sender == ENTRY_POINT || msg.sender == address(this));
        _;
    }

    modifier paying(uint256 missing) {
        _;
        if (missing > 0) {
            (bool paid,) = msg.sender.call{value: missing}("");
            paid;
        }
    }
}

/// Accounts behind proxies of ERC-1967.
abstract contract Factory {
    address private immutable CODE;

    constructor(address code) {
        CODE = code;
    }

    function made(bytes32 salt) internal returns (bool isNew, address account) {
        bool existed;
        (existed, account) = LibClone.createDeterministicERC1967(CODE, salt);
        return (!existed, account);
    }

    function addressOf(bytes32 salt) internal view returns (address) {
        return LibClone.predictDeterministicAddressERC1967(CODE, salt, address(this));
    }
}

/// Light Account 2: the first byte of a signature is its type.
contract LightShaped is Account(ENTRY_POINT_07) {
    error InvalidSignatureType();

    address private owner;

    function initialize(address first) external {
        require(owner == address(0));
        owner = first;
    }

    function validateUserOp(PackedUserOperation calldata op, bytes32 hash, uint256 missing)
        external
        onlyEntryPoint
        paying(missing)
        returns (uint256)
    {
        if (op.signature.length == 0 || op.signature[0] != 0x00) revert InvalidSignatureType();
        return failureUnlessBy(owner, ECDSA.toEthSignedMessageHash(hash), op.signature[1:]);
    }

    function execute(address to, uint256 value, bytes calldata data) external onlyEntryPoint {
        makeCall(to, value, data);
    }

    function executeBatch(address[] calldata to, uint256[] calldata values, bytes[] calldata data) external onlyEntryPoint {
        require(to.length == values.length && to.length == data.length);
        for (uint256 i = 0; i < to.length; i++) makeCall(to[i], values[i], data[i]);
    }
}

contract LightFactory is Factory {
    constructor() Factory(address(new LightShaped())) {}

    function createAccount(address owner, uint256 salt) external returns (address account) {
        bool isNew;
        (isNew, account) = made(keccak256(abi.encode(owner, salt)));
        if (isNew) LightShaped(account).initialize(owner);
    }
}

/// Coinbase Smart Wallet, on EntryPoint 0.6: a signature says which of the owners has signed the hash itself.
contract CoinbaseShaped is Account(ENTRY_POINT_06) {
    struct SignatureWrapper {
        uint256 ownerIndex;
        bytes signatureData;
    }

    bytes[] private owners;

    function initialize(bytes[] calldata first) external {
        require(owners.length == 0);
        for (uint256 i = 0; i < first.length; i++) owners.push(first[i]);
    }

    function validateUserOp(UserOperation calldata op, bytes32 hash, uint256 missing)
        external
        onlyEntryPoint
        paying(missing)
        returns (uint256)
    {
        SignatureWrapper memory signed = abi.decode(op.signature, (SignatureWrapper));
        address owner = abi.decode(owners[signed.ownerIndex], (address));
        return failureUnlessBy(owner, hash, signed.signatureData);
    }

    function execute(address to, uint256 value, bytes calldata data) external payable onlyEntryPoint {
        makeCall(to, value, data);
    }

    function executeBatch(Call[] calldata calls) external payable onlyEntryPoint {
        for (uint256 i = 0; i < calls.length; i++) makeCall(calls[i].to, calls[i].value, calls[i].data);
    }
}

contract CoinbaseFactory is Factory {
    constructor() Factory(address(new CoinbaseShaped())) {}

    function createAccount(bytes[] calldata owners, uint256 nonce) external payable returns (address account) {
        bool isNew;
        (isNew, account) = made(keccak256(abi.encode(owners, nonce)));
        if (isNew) CoinbaseShaped(account).initialize(owners);
    }

    function getAddress(bytes[] calldata owners, uint256 nonce) external view returns (address) {
        return addressOf(keccak256(abi.encode(owners, nonce)));
    }
}

/// The module that knows the owners of Nexus accounts.
contract NexusValidator {
    mapping(address account => address) private owners;

    function onInstall(bytes calldata data) external {
        owners[msg.sender] = address(bytes20(data));
    }

    function validateUserOp(PackedUserOperation calldata op, bytes32 hash) external view returns (uint256) {
        return failureUnlessBy(owners[msg.sender], ECDSA.toEthSignedMessageHash(hash), op.signature);
    }
}

/// Nexus: the key of the nonce names the module that validates.
contract NexusShaped is Account(ENTRY_POINT_07) {
    mapping(address module => bool) private isInstalled;

    function initialize(NexusValidator validator, address owner) external {
        require(!isInstalled[address(validator)]);
        isInstalled[address(validator)] = true;
        validator.onInstall(abi.encodePacked(owner));
    }

    function validateUserOp(PackedUserOperation calldata op, bytes32 hash, uint256 missing)
        external
        onlyEntryPoint
        paying(missing)
        returns (uint256)
    {
        NexusValidator validator = NexusValidator(address(uint160(op.nonce >> 64)));
        require(isInstalled[address(validator)]);
        return validator.validateUserOp(op, hash);
    }

    function execute(bytes32 mode, bytes calldata data) external payable onlyEntryPoint {
        Call[] memory calls = executionsOf(mode, data);
        for (uint256 i = 0; i < calls.length; i++) makeCall(calls[i].to, calls[i].value, calls[i].data);
    }
}

contract NexusFactory is Factory {
    NexusValidator private constant VALIDATOR = NexusValidator(0x00000004171351c442B202678c48D8AB5B321E8f);

    constructor() Factory(address(new NexusShaped())) {}

    function createAccount(address owner, uint256 index, address[] calldata attesters, uint8 threshold)
        external
        payable
        returns (address account)
    {
        bool isNew;
        (isNew, account) = made(keccak256(abi.encode(owner, index, attesters, threshold)));
        if (isNew) NexusShaped(account).initialize(VALIDATOR, owner);
    }

    function computeAccountAddress(address owner, uint256 index, address[] calldata attesters, uint8 threshold)
        external
        view
        returns (address)
    {
        return addressOf(keccak256(abi.encode(owner, index, attesters, threshold)));
    }
}

/// Modular Account v2: the key of the nonce names a validation, a signature begins with what is for hooks (ff: nothing) and its type.
contract ModularShaped is Account(ENTRY_POINT_07) {
    address private owner;

    function initialize(address first) external {
        require(owner == address(0));
        owner = first;
    }

    function validateUserOp(PackedUserOperation calldata op, bytes32 hash, uint256 missing)
        external
        onlyEntryPoint
        paying(missing)
        returns (uint256)
    {
        // The owner's validation, which is for all functions.
        require(uint40(op.nonce >> 64) == 1);
        require(bytes2(op.signature) == 0xff00);
        return failureUnlessBy(owner, ECDSA.toEthSignedMessageHash(hash), op.signature[2:]);
    }

    function executeUserOp(PackedUserOperation calldata op, bytes32) external onlyEntryPoint {
        makeCall(address(this), 0, op.callData[4:]);
    }

    function execute(address to, uint256 value, bytes calldata data) external payable onlyEntryPoint {
        makeCall(to, value, data);
    }

    function executeBatch(Call[] calldata calls) external payable onlyEntryPoint {
        for (uint256 i = 0; i < calls.length; i++) makeCall(calls[i].to, calls[i].value, calls[i].data);
    }
}

contract ModularFactory is Factory {
    constructor() Factory(address(new ModularShaped())) {}

    function createSemiModularAccount(address owner, uint256 salt) external returns (address account) {
        bool isNew;
        (isNew, account) = made(keccak256(abi.encode(owner, salt)));
        if (isNew) ModularShaped(account).initialize(owner);
    }
}

interface ISafe {
    function setup(
        address[] calldata owners,
        uint256 threshold,
        address to,
        bytes calldata data,
        address fallbackHandler,
        address paymentToken,
        uint256 payment,
        address payable paymentReceiver
    ) external;
    function enableModule(address module) external;
    function checkSignatures(bytes32 hash, bytes calldata data, bytes calldata signatures) external view;
    function execTransactionFromModule(address to, uint256 value, bytes calldata data, uint8 operation)
        external
        returns (bool);
    function execTransactionFromModuleReturnData(address to, uint256 value, bytes calldata data, uint8 operation)
        external
        returns (bool, bytes memory);
}

/// What the owners of a Safe sign: the typed data of its module for ERC-4337. A signature begins with the times of 6 bytes each.
abstract contract ForSafes {
    bytes32 private constant DOMAIN = keccak256("EIP712Domain(uint256 chainId,address verifyingContract)");

    /// The Safe appends to a call whoever called it.
    modifier onlyThrough(address entryPoint) {
        address caller = address(bytes20(msg.data[msg.data.length - 20:]));
        require(caller == entryPoint || caller == msg.sender);
        _;
    }

    function typedData(address module, bytes32 operation) internal view returns (bytes memory) {
        return abi.encodePacked(hex"1901", keccak256(abi.encode(DOMAIN, block.chainid, module)), operation);
    }

    function hash07(PackedUserOperation calldata op) internal pure returns (bytes32) {
        bytes32 limits = op.accountGasLimits;
        return keccak256(
            bytes.concat(
                abi.encode(
                    keccak256(
                        "SafeOp(address safe,uint256 nonce,bytes initCode,bytes callData,uint128 verificationGasLimit,uint128 callGasLimit,uint256 preVerificationGas,uint128 maxPriorityFeePerGas,uint128 maxFeePerGas,bytes paymasterAndData,uint48 validAfter,uint48 validUntil,address entryPoint)"
                    ),
                    op.sender,
                    op.nonce,
                    keccak256(op.initCode),
                    keccak256(op.callData),
                    uint256(limits) >> 128,
                    uint128(uint256(limits))
                ),
                abi.encode(
                    op.preVerificationGas,
                    uint256(op.gasFees) >> 128,
                    uint128(uint256(op.gasFees)),
                    keccak256(op.paymasterAndData),
                    uint48(bytes6(op.signature[:6])),
                    uint48(bytes6(op.signature[6:12])),
                    ENTRY_POINT_07
                )
            )
        );
    }

    function validatedBySafe(bytes memory data, bytes calldata signature, address entryPoint, uint256 missing)
        internal
        returns (uint256 validationData)
    {
        uint256 validAfter = uint48(bytes6(signature[:6]));
        uint256 validUntil = uint48(bytes6(signature[6:12]));
        validationData = (validAfter << 208) | (validUntil << 160);
        try ISafe(msg.sender).checkSignatures(keccak256(data), data, signature[12:]) {}
        catch {
            validationData |= 1;
        }
        if (missing > 0) ISafe(msg.sender).execTransactionFromModule(entryPoint, missing, "", 0);
    }

    function makeCallOf(address safe, Call memory call, uint8 operation) internal {
        (bool success, bytes memory answer) =
            ISafe(safe).execTransactionFromModuleReturnData(call.to, call.value, call.data, operation);
        if (success) return;
        assembly ("memory-safe") {
            revert(add(answer, 32), mload(answer))
        }
    }
}

/// Safe's module for EntryPoint 0.6.
contract SafeModule06 is ForSafes {
    function validateUserOp(UserOperation calldata op, bytes32, uint256 missing)
        external
        onlyThrough(ENTRY_POINT_06)
        returns (uint256)
    {
        require(op.sender == msg.sender);
        bytes4 selector = bytes4(op.callData);
        require(selector == this.executeUserOp.selector || selector == this.executeUserOpWithErrorString.selector);
        return validatedBySafe(typedData(address(this), hash06(op)), op.signature, ENTRY_POINT_06, missing);
    }

    function executeUserOp(address to, uint256 value, bytes calldata data, uint8 operation)
        external
        onlyThrough(ENTRY_POINT_06)
    {
        require(ISafe(msg.sender).execTransactionFromModule(to, value, data, operation));
    }

    function executeUserOpWithErrorString(address to, uint256 value, bytes calldata data, uint8 operation)
        external
        onlyThrough(ENTRY_POINT_06)
    {
        makeCallOf(msg.sender, Call(to, value, data), operation);
    }

    function hash06(UserOperation calldata op) private pure returns (bytes32) {
        return keccak256(
            bytes.concat(
                abi.encode(
                    keccak256(
                        "SafeOp(address safe,uint256 nonce,bytes initCode,bytes callData,uint256 callGasLimit,uint256 verificationGasLimit,uint256 preVerificationGas,uint256 maxFeePerGas,uint256 maxPriorityFeePerGas,bytes paymasterAndData,uint48 validAfter,uint48 validUntil,address entryPoint)"
                    ),
                    op.sender,
                    op.nonce,
                    keccak256(op.initCode),
                    keccak256(op.callData),
                    op.callGasLimit,
                    op.verificationGasLimit
                ),
                abi.encode(
                    op.preVerificationGas,
                    op.maxFeePerGas,
                    op.maxPriorityFeePerGas,
                    keccak256(op.paymasterAndData),
                    uint48(bytes6(op.signature[:6])),
                    uint48(bytes6(op.signature[6:12])),
                    ENTRY_POINT_06
                )
            )
        );
    }
}

/// The adapter of Safe7579: module and fallback handler of a Safe.
contract Safe7579Adapter is ForSafes {
    function validateUserOp(PackedUserOperation calldata op, bytes32, uint256 missing)
        external
        onlyThrough(ENTRY_POINT_07)
        returns (uint256)
    {
        require(op.sender == msg.sender);
        return validatedBySafe(typedData(address(this), hash07(op)), op.signature, ENTRY_POINT_07, missing);
    }

    function execute(bytes32 mode, bytes calldata data) external onlyThrough(ENTRY_POINT_07) {
        Call[] memory calls = executionsOf(mode, data);
        for (uint256 i = 0; i < calls.length; i++) makeCallOf(msg.sender, calls[i], 0);
    }
}

/// The launchpad of Safe7579: what a new proxy is until its first operation has made it a Safe.
contract Safe7579Launchpad is ForSafes {
    struct ModuleInit {
        address module;
        bytes initData;
    }

    struct InitData {
        address singleton;
        address[] owners;
        uint256 threshold;
        address setupTo;
        bytes setupData;
        address safe7579;
        ModuleInit[] validators;
        bytes callData;
    }

    bytes32 private constant INIT_HASH = keccak256("init hash");

    /// Of the proxy.
    address private singleton;

    function preValidationSetup(bytes32 initHash, address, bytes calldata) external {
        bytes32 slot = INIT_HASH;
        assembly ("memory-safe") {
            sstore(slot, initHash)
        }
    }

    function validateUserOp(PackedUserOperation calldata op, bytes32, uint256 missing) external returns (uint256) {
        require(msg.sender == ENTRY_POINT_07);
        require(bytes4(op.callData) == this.setupSafe.selector);
        InitData memory init = abi.decode(op.callData[4:], (InitData));
        requirePromised(init);
        if (missing > 0) makeCall(msg.sender, missing, "");
        bytes32 signed = keccak256(typedData(init.safe7579, hash07(op)));
        return failureUnlessBy(init.owners[0], signed, op.signature[12:]);
    }

    function setupSafe(InitData calldata init) external {
        require(msg.sender == ENTRY_POINT_07);
        requirePromised(init);
        singleton = init.singleton;
        ISafe(address(this)).setup(
            init.owners,
            init.threshold,
            init.setupTo,
            init.setupData,
            init.safe7579,
            address(0),
            0,
            payable(address(0))
        );
        makeCall(address(this), 0, init.callData);
    }

    /// As the Safe, which calls it with its own storage.
    function initSafe7579(
        address safe7579,
        ModuleInit[] calldata,
        ModuleInit[] calldata,
        ModuleInit[] calldata,
        address[] calldata,
        uint8
    ) external {
        ISafe(address(this)).enableModule(safe7579);
    }

    function requirePromised(InitData memory init) private view {
        bytes32 slot = INIT_HASH;
        bytes32 promised;
        assembly ("memory-safe") {
            promised := sload(slot)
        }
        bytes memory all = abi.encode(
            init.singleton,
            init.owners,
            init.threshold,
            init.setupTo,
            init.setupData,
            init.safe7579,
            init.validators
        );
        require(keccak256(all) == promised);
    }
}

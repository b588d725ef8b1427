import * as p from '@subsquid/evm-codec'
import { event, fun, viewFun, indexed, ContractBase } from '@subsquid/evm-abi'
import type { EventParams as EParams, FunctionArguments, FunctionReturn } from '@subsquid/evm-abi'

export const events = {
    Attested: event("0x8bf46bf4cfd674fa735a3d63ec1c9ad4153f033c290341f3a588b75685141b35", "Attested(address,address,bytes32,bytes32)", {"recipient": indexed(p.address), "attester": indexed(p.address), "uid": p.bytes32, "schemaUID": indexed(p.bytes32)}),
    EIP712DomainChanged: event("0x0a6387c9ea3628b88a633bb4f3b151770f70085117a15f9bf3787cda53f13d31", "EIP712DomainChanged()", {}),
    NonceIncreased: event("0x57b09af877df9068fd60a69d7b21f5576b8b38955812d6ae4ac52942f1e38fb7", "NonceIncreased(uint256,uint256)", {"oldNonce": p.uint256, "newNonce": p.uint256}),
    Revoked: event("0xf930a6e2523c9cc298691873087a740550b8fc85a0680830414c148ed927f615", "Revoked(address,address,bytes32,bytes32)", {"recipient": indexed(p.address), "attester": indexed(p.address), "uid": p.bytes32, "schemaUID": indexed(p.bytes32)}),
    RevokedOffchain: event("0x92a1f7a41a7c585a8b09e25b195e225b1d43248daca46b0faf9e0792777a2229", "RevokedOffchain(address,bytes32,uint64)", {"revoker": indexed(p.address), "data": indexed(p.bytes32), "timestamp": indexed(p.uint64)}),
    Timestamped: event("0x5aafceeb1c7ad58e4a84898bdee37c02c0fc46e7d24e6b60e8209449f183459f", "Timestamped(bytes32,uint64)", {"data": indexed(p.bytes32), "timestamp": indexed(p.uint64)}),
}

export const functions = {
    attest: fun("0xf17325e7", "attest((bytes32,(address,uint64,bool,bytes32,bytes,uint256)))", {"request": p.struct({"schema": p.bytes32, "data": p.struct({"recipient": p.address, "expirationTime": p.uint64, "revocable": p.bool, "refUID": p.bytes32, "data": p.bytes, "value": p.uint256})})}, p.bytes32),
    attestByDelegation: fun("0x3c042715", "attestByDelegation((bytes32,(address,uint64,bool,bytes32,bytes,uint256),(uint8,bytes32,bytes32),address,uint64))", {"delegatedRequest": p.struct({"schema": p.bytes32, "data": p.struct({"recipient": p.address, "expirationTime": p.uint64, "revocable": p.bool, "refUID": p.bytes32, "data": p.bytes, "value": p.uint256}), "signature": p.struct({"v": p.uint8, "r": p.bytes32, "s": p.bytes32}), "attester": p.address, "deadline": p.uint64})}, p.bytes32),
    eip712Domain: viewFun("0x84b0196e", "eip712Domain()", {}, {"fields": p.bytes1, "name": p.string, "version": p.string, "chainId": p.uint256, "verifyingContract": p.address, "salt": p.bytes32, "extensions": p.array(p.uint256)}),
    getAttestTypeHash: viewFun("0x12b11a17", "getAttestTypeHash()", {}, p.bytes32),
    getAttestation: viewFun("0xa3112a64", "getAttestation(bytes32)", {"uid": p.bytes32}, p.struct({"uid": p.bytes32, "schema": p.bytes32, "time": p.uint64, "expirationTime": p.uint64, "revocationTime": p.uint64, "refUID": p.bytes32, "recipient": p.address, "attester": p.address, "revocable": p.bool, "data": p.bytes})),
    getDomainSeparator: viewFun("0xed24911d", "getDomainSeparator()", {}, p.bytes32),
    getName: viewFun("0x17d7de7c", "getName()", {}, p.string),
    getNonce: viewFun("0x2d0335ab", "getNonce(address)", {"account": p.address}, p.uint256),
    getRevokeOffchain: viewFun("0xb469318d", "getRevokeOffchain(address,bytes32)", {"revoker": p.address, "data": p.bytes32}, p.uint64),
    getRevokeTypeHash: viewFun("0xb83010d3", "getRevokeTypeHash()", {}, p.bytes32),
    getSchemaRegistry: viewFun("0xf10b5cc8", "getSchemaRegistry()", {}, p.address),
    getTimestamp: viewFun("0xd45c4435", "getTimestamp(bytes32)", {"data": p.bytes32}, p.uint64),
    increaseNonce: fun("0x79f7573a", "increaseNonce(uint256)", {"newNonce": p.uint256}, ),
    isAttestationValid: viewFun("0xe30bb563", "isAttestationValid(bytes32)", {"uid": p.bytes32}, p.bool),
    multiAttest: fun("0x44adc90e", "multiAttest((bytes32,(address,uint64,bool,bytes32,bytes,uint256)[])[])", {"multiRequests": p.array(p.struct({"schema": p.bytes32, "data": p.array(p.struct({"recipient": p.address, "expirationTime": p.uint64, "revocable": p.bool, "refUID": p.bytes32, "data": p.bytes, "value": p.uint256}))}))}, p.array(p.bytes32)),
    multiAttestByDelegation: fun("0x95411525", "multiAttestByDelegation((bytes32,(address,uint64,bool,bytes32,bytes,uint256)[],(uint8,bytes32,bytes32)[],address,uint64)[])", {"multiDelegatedRequests": p.array(p.struct({"schema": p.bytes32, "data": p.array(p.struct({"recipient": p.address, "expirationTime": p.uint64, "revocable": p.bool, "refUID": p.bytes32, "data": p.bytes, "value": p.uint256})), "signatures": p.array(p.struct({"v": p.uint8, "r": p.bytes32, "s": p.bytes32})), "attester": p.address, "deadline": p.uint64}))}, p.array(p.bytes32)),
    multiRevoke: fun("0x4cb7e9e5", "multiRevoke((bytes32,(bytes32,uint256)[])[])", {"multiRequests": p.array(p.struct({"schema": p.bytes32, "data": p.array(p.struct({"uid": p.bytes32, "value": p.uint256}))}))}, ),
    multiRevokeByDelegation: fun("0x0eabf660", "multiRevokeByDelegation((bytes32,(bytes32,uint256)[],(uint8,bytes32,bytes32)[],address,uint64)[])", {"multiDelegatedRequests": p.array(p.struct({"schema": p.bytes32, "data": p.array(p.struct({"uid": p.bytes32, "value": p.uint256})), "signatures": p.array(p.struct({"v": p.uint8, "r": p.bytes32, "s": p.bytes32})), "revoker": p.address, "deadline": p.uint64}))}, ),
    multiRevokeOffchain: fun("0x13893f61", "multiRevokeOffchain(bytes32[])", {"data": p.array(p.bytes32)}, p.uint64),
    multiTimestamp: fun("0xe71ff365", "multiTimestamp(bytes32[])", {"data": p.array(p.bytes32)}, p.uint64),
    revoke: fun("0x46926267", "revoke((bytes32,(bytes32,uint256)))", {"request": p.struct({"schema": p.bytes32, "data": p.struct({"uid": p.bytes32, "value": p.uint256})})}, ),
    revokeByDelegation: fun("0xa6d4dbc7", "revokeByDelegation((bytes32,(bytes32,uint256),(uint8,bytes32,bytes32),address,uint64))", {"delegatedRequest": p.struct({"schema": p.bytes32, "data": p.struct({"uid": p.bytes32, "value": p.uint256}), "signature": p.struct({"v": p.uint8, "r": p.bytes32, "s": p.bytes32}), "revoker": p.address, "deadline": p.uint64})}, ),
    revokeOffchain: fun("0xcf190f34", "revokeOffchain(bytes32)", {"data": p.bytes32}, p.uint64),
    timestamp: fun("0x4d003070", "timestamp(bytes32)", {"data": p.bytes32}, p.uint64),
    version: viewFun("0x54fd4d50", "version()", {}, p.string),
}

export class Contract extends ContractBase {

    eip712Domain() {
        return this.eth_call(functions.eip712Domain, {})
    }

    getAttestTypeHash() {
        return this.eth_call(functions.getAttestTypeHash, {})
    }

    getAttestation(uid: GetAttestationParams["uid"]) {
        return this.eth_call(functions.getAttestation, {uid})
    }

    getDomainSeparator() {
        return this.eth_call(functions.getDomainSeparator, {})
    }

    getName() {
        return this.eth_call(functions.getName, {})
    }

    getNonce(account: GetNonceParams["account"]) {
        return this.eth_call(functions.getNonce, {account})
    }

    getRevokeOffchain(revoker: GetRevokeOffchainParams["revoker"], data: GetRevokeOffchainParams["data"]) {
        return this.eth_call(functions.getRevokeOffchain, {revoker, data})
    }

    getRevokeTypeHash() {
        return this.eth_call(functions.getRevokeTypeHash, {})
    }

    getSchemaRegistry() {
        return this.eth_call(functions.getSchemaRegistry, {})
    }

    getTimestamp(data: GetTimestampParams["data"]) {
        return this.eth_call(functions.getTimestamp, {data})
    }

    isAttestationValid(uid: IsAttestationValidParams["uid"]) {
        return this.eth_call(functions.isAttestationValid, {uid})
    }

    version() {
        return this.eth_call(functions.version, {})
    }
}

/// Event types
export type AttestedEventArgs = EParams<typeof events.Attested>
export type EIP712DomainChangedEventArgs = EParams<typeof events.EIP712DomainChanged>
export type NonceIncreasedEventArgs = EParams<typeof events.NonceIncreased>
export type RevokedEventArgs = EParams<typeof events.Revoked>
export type RevokedOffchainEventArgs = EParams<typeof events.RevokedOffchain>
export type TimestampedEventArgs = EParams<typeof events.Timestamped>

/// Function types
export type AttestParams = FunctionArguments<typeof functions.attest>
export type AttestReturn = FunctionReturn<typeof functions.attest>

export type AttestByDelegationParams = FunctionArguments<typeof functions.attestByDelegation>
export type AttestByDelegationReturn = FunctionReturn<typeof functions.attestByDelegation>

export type Eip712DomainParams = FunctionArguments<typeof functions.eip712Domain>
export type Eip712DomainReturn = FunctionReturn<typeof functions.eip712Domain>

export type GetAttestTypeHashParams = FunctionArguments<typeof functions.getAttestTypeHash>
export type GetAttestTypeHashReturn = FunctionReturn<typeof functions.getAttestTypeHash>

export type GetAttestationParams = FunctionArguments<typeof functions.getAttestation>
export type GetAttestationReturn = FunctionReturn<typeof functions.getAttestation>

export type GetDomainSeparatorParams = FunctionArguments<typeof functions.getDomainSeparator>
export type GetDomainSeparatorReturn = FunctionReturn<typeof functions.getDomainSeparator>

export type GetNameParams = FunctionArguments<typeof functions.getName>
export type GetNameReturn = FunctionReturn<typeof functions.getName>

export type GetNonceParams = FunctionArguments<typeof functions.getNonce>
export type GetNonceReturn = FunctionReturn<typeof functions.getNonce>

export type GetRevokeOffchainParams = FunctionArguments<typeof functions.getRevokeOffchain>
export type GetRevokeOffchainReturn = FunctionReturn<typeof functions.getRevokeOffchain>

export type GetRevokeTypeHashParams = FunctionArguments<typeof functions.getRevokeTypeHash>
export type GetRevokeTypeHashReturn = FunctionReturn<typeof functions.getRevokeTypeHash>

export type GetSchemaRegistryParams = FunctionArguments<typeof functions.getSchemaRegistry>
export type GetSchemaRegistryReturn = FunctionReturn<typeof functions.getSchemaRegistry>

export type GetTimestampParams = FunctionArguments<typeof functions.getTimestamp>
export type GetTimestampReturn = FunctionReturn<typeof functions.getTimestamp>

export type IncreaseNonceParams = FunctionArguments<typeof functions.increaseNonce>
export type IncreaseNonceReturn = FunctionReturn<typeof functions.increaseNonce>

export type IsAttestationValidParams = FunctionArguments<typeof functions.isAttestationValid>
export type IsAttestationValidReturn = FunctionReturn<typeof functions.isAttestationValid>

export type MultiAttestParams = FunctionArguments<typeof functions.multiAttest>
export type MultiAttestReturn = FunctionReturn<typeof functions.multiAttest>

export type MultiAttestByDelegationParams = FunctionArguments<typeof functions.multiAttestByDelegation>
export type MultiAttestByDelegationReturn = FunctionReturn<typeof functions.multiAttestByDelegation>

export type MultiRevokeParams = FunctionArguments<typeof functions.multiRevoke>
export type MultiRevokeReturn = FunctionReturn<typeof functions.multiRevoke>

export type MultiRevokeByDelegationParams = FunctionArguments<typeof functions.multiRevokeByDelegation>
export type MultiRevokeByDelegationReturn = FunctionReturn<typeof functions.multiRevokeByDelegation>

export type MultiRevokeOffchainParams = FunctionArguments<typeof functions.multiRevokeOffchain>
export type MultiRevokeOffchainReturn = FunctionReturn<typeof functions.multiRevokeOffchain>

export type MultiTimestampParams = FunctionArguments<typeof functions.multiTimestamp>
export type MultiTimestampReturn = FunctionReturn<typeof functions.multiTimestamp>

export type RevokeParams = FunctionArguments<typeof functions.revoke>
export type RevokeReturn = FunctionReturn<typeof functions.revoke>

export type RevokeByDelegationParams = FunctionArguments<typeof functions.revokeByDelegation>
export type RevokeByDelegationReturn = FunctionReturn<typeof functions.revokeByDelegation>

export type RevokeOffchainParams = FunctionArguments<typeof functions.revokeOffchain>
export type RevokeOffchainReturn = FunctionReturn<typeof functions.revokeOffchain>

export type TimestampParams = FunctionArguments<typeof functions.timestamp>
export type TimestampReturn = FunctionReturn<typeof functions.timestamp>

export type VersionParams = FunctionArguments<typeof functions.version>
export type VersionReturn = FunctionReturn<typeof functions.version>


import {Entity as Entity_, Column as Column_, PrimaryColumn as PrimaryColumn_, Index as Index_, StringColumn as StringColumn_, BigIntColumn as BigIntColumn_, BooleanColumn as BooleanColumn_, BytesColumn as BytesColumn_, IntColumn as IntColumn_, DateTimeColumn as DateTimeColumn_} from "@subsquid/typeorm-store"
import {EventKind} from "./_eventKind"

/**
 * Append-only: every Attested and Revoked of the watched location schemas and of our attesters, one row an event
 */
@Index_(["chain", "uid"], {unique: false})
@Index_(["blockTimestamp", "id"], {unique: false})
@Index_(["attester", "blockTimestamp"], {unique: false})
@Entity_()
export class AttestationEvent {
    constructor(props?: Partial<AttestationEvent>) {
        Object.assign(this, props)
    }

    /**
     * <chain>-<block number, 12 digits>-<log index, 6 digits>
     */
    @PrimaryColumn_()
    id!: string

    @StringColumn_({nullable: false})
    chain!: string

    @Column_("varchar", {length: 8, nullable: false})
    kind!: EventKind

    @StringColumn_({nullable: false})
    uid!: string

    @StringColumn_({nullable: false})
    schemaUid!: string

    /**
     * lower-case
     */
    @StringColumn_({nullable: false})
    attester!: string

    /**
     * lower-case
     */
    @StringColumn_({nullable: false})
    recipient!: string

    /**
     * Attested only, like the six that follow
     */
    @StringColumn_({nullable: true})
    refUid!: string | undefined | null

    /**
     * Unix seconds; equals the block's timestamp
     */
    @BigIntColumn_({nullable: true})
    time!: bigint | undefined | null

    /**
     * Unix seconds; 0 = never; up to 2^64-1
     */
    @BigIntColumn_({nullable: true})
    expirationTime!: bigint | undefined | null

    @BooleanColumn_({nullable: true})
    revocable!: boolean | undefined | null

    @BytesColumn_({nullable: true})
    data!: Uint8Array | undefined | null

    /**
     * Why this attestation gave no record and no answer, or its record no geometry; null when nothing was wrong
     */
    @StringColumn_({nullable: true})
    problem!: string | undefined | null

    /**
     * Something of it could not be stored: it gives no record, data may be null, and problem says why
     */
    @BooleanColumn_({nullable: false})
    withheld!: boolean

    @IntColumn_({nullable: false})
    blockNumber!: number

    @StringColumn_({nullable: false})
    blockHash!: string

    @DateTimeColumn_({nullable: false})
    blockTimestamp!: Date

    @StringColumn_({nullable: false})
    transactionHash!: string

    @IntColumn_({nullable: false})
    logIndex!: number
}

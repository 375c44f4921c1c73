;; What is done to every row of a column, over columns and bitmaps in memory that the host gives. A bitmap has one bit for
;; a row; rows come in multiples of 64. `from` and `to` may be the same bitmap.
(module
  (import "" "memory" (memory 1 65536))

  ;; How many rows a bitmap has.
  (func (export "popcount") (param $bits i32) (param $bytes i32) (result i32)
    (local $end i32) (local $sum i64)
    (local.set $end (i32.add (local.get $bits) (local.get $bytes)))
    (loop $next
      (local.set $sum (i64.add (local.get $sum) (i64.popcnt (i64.load (local.get $bits)))))
      (local.set $bits (i32.add (local.get $bits) (i32.const 8)))
      (br_if $next (i32.lt_u (local.get $bits) (local.get $end))))
    (i32.wrap_i64 (local.get $sum)))

  ;; Rows fall into 4,096 buckets by their key, a code: the bucket is the key, less the least, shifted to the right, all
  ;; unsigned; the last one has the rows without a value. Adds to the counts how many rows of a bitmap are in each.
  (func (export "histogram32")
    (param $column i32) (param $bits i32) (param $bytes i32) (param $least i32) (param $shift i32) (param $counts i32)
    (local $end i32) (local $left i64) (local $row i32) (local $key i32) (local $bucket i32)
    (local.set $end (i32.add (local.get $bits) (local.get $bytes)))
    (loop $next
      (local.set $left (i64.load (local.get $bits)))
      (block $done
        (loop $bit
          (br_if $done (i64.eqz (local.get $left)))
          (local.set $row (i32.wrap_i64 (i64.ctz (local.get $left))))
          (local.set $left (i64.and (local.get $left) (i64.sub (local.get $left) (i64.const 1))))
          (local.set $key
            (i32.load (i32.add (local.get $column) (i32.shl (local.get $row) (i32.const 2)))))
          (local.set $bucket
            (select
              (i32.const 4095)
              (i32.shr_u (i32.sub (local.get $key) (local.get $least)) (local.get $shift))
              (i32.eq (local.get $key) (i32.const 0x80000000))))
          (local.set $bucket (i32.add (local.get $counts) (i32.shl (local.get $bucket) (i32.const 2))))
          (i32.store (local.get $bucket) (i32.add (i32.load (local.get $bucket)) (i32.const 1)))
          (br $bit)))
      (local.set $column (i32.add (local.get $column) (i32.const 256)))
      (local.set $bits (i32.add (local.get $bits) (i32.const 8)))
      (br_if $next (i32.lt_u (local.get $bits) (local.get $end)))))

  ;; The same of floats: the key is the bits of one, made a number in the order of floats.
  (func (export "histogram64")
    (param $column i32) (param $bits i32) (param $bytes i32) (param $least i64) (param $shift i32) (param $counts i32)
    (local $end i32) (local $left i64) (local $row i32) (local $key i64) (local $bucket i32) (local $value f64)
    (local.set $end (i32.add (local.get $bits) (local.get $bytes)))
    (loop $next
      (local.set $left (i64.load (local.get $bits)))
      (block $done
        (loop $bit
          (br_if $done (i64.eqz (local.get $left)))
          (local.set $row (i32.wrap_i64 (i64.ctz (local.get $left))))
          (local.set $left (i64.and (local.get $left) (i64.sub (local.get $left) (i64.const 1))))
          (local.set $value
            (f64.load (i32.add (local.get $column) (i32.shl (local.get $row) (i32.const 3)))))
          (local.set $key (i64.reinterpret_f64 (local.get $value)))
          (local.set $key
            (i64.xor
              (local.get $key)
              (i64.shr_u (i64.shr_s (local.get $key) (i64.const 63)) (i64.const 1))))
          (local.set $bucket
            (select
              (i32.const 4095)
              (i32.wrap_i64
                (i64.shr_u (i64.sub (local.get $key) (local.get $least)) (i64.extend_i32_u (local.get $shift))))
              (f64.ne (local.get $value) (local.get $value))))
          (local.set $bucket (i32.add (local.get $counts) (i32.shl (local.get $bucket) (i32.const 2))))
          (i32.store (local.get $bucket) (i32.add (i32.load (local.get $bucket)) (i32.const 1)))
          (br $bit)))
      (local.set $column (i32.add (local.get $column) (i32.const 512)))
      (local.set $bits (i32.add (local.get $bits) (i32.const 8)))
      (br_if $next (i32.lt_u (local.get $bits) (local.get $end)))))

  ;; Writes the numbers, from the base on, of the rows in a bitmap; gives where it ended.
  (func (export "gather") (param $bits i32) (param $bytes i32) (param $base i32) (param $out i32) (result i32)
    (local $end i32) (local $left i64)
    (local.set $end (i32.add (local.get $bits) (local.get $bytes)))
    (loop $next
      (local.set $left (i64.load (local.get $bits)))
      (block $done
        (loop $bit
          (br_if $done (i64.eqz (local.get $left)))
          (i32.store (local.get $out) (i32.add (local.get $base) (i32.wrap_i64 (i64.ctz (local.get $left)))))
          (local.set $out (i32.add (local.get $out) (i32.const 4)))
          (local.set $left (i64.and (local.get $left) (i64.sub (local.get $left) (i64.const 1))))
          (br $bit)))
      (local.set $base (i32.add (local.get $base) (i32.const 64)))
      (local.set $bits (i32.add (local.get $bits) (i32.const 8)))
      (br_if $next (i32.lt_u (local.get $bits) (local.get $end))))
    (local.get $out))

  ;; Writes a column of the ranks of codes, by a table, where a bitmap has a row; elsewhere, anything. Every
  ;; code of these rows has an entry there; that of no value is the first.
  (func (export "rank")
    (param $column i32) (param $bits i32) (param $bytes i32) (param $ranks i32) (param $to i32)
    (local $end i32) (local $left i64) (local $offset i32)
    (local.set $end (i32.add (local.get $bits) (local.get $bytes)))
    (loop $next
      (local.set $left (i64.load (local.get $bits)))
      (block $done
        (loop $bit
          (br_if $done (i64.eqz (local.get $left)))
          (local.set $offset (i32.shl (i32.wrap_i64 (i64.ctz (local.get $left))) (i32.const 2)))
          (local.set $left (i64.and (local.get $left) (i64.sub (local.get $left) (i64.const 1))))
          (i32.store
            (i32.add (local.get $to) (local.get $offset))
            (i32.load
              (i32.add
                (local.get $ranks)
                (i32.shl (i32.load (i32.add (local.get $column) (local.get $offset))) (i32.const 2)))))
          (br $bit)))
      (local.set $column (i32.add (local.get $column) (i32.const 256)))
      (local.set $to (i32.add (local.get $to) (i32.const 256)))
      (local.set $bits (i32.add (local.get $bits) (i32.const 8)))
      (br_if $next (i32.lt_u (local.get $bits) (local.get $end)))))

  ;; Writes a column of 32 bits as one of floats, of which NaN is no value.
  (func (export "widen") (param $column i32) (param $rows i32) (param $to i32)
    (local $end i32) (local $code i32)
    (local.set $end (i32.add (local.get $column) (i32.shl (local.get $rows) (i32.const 2))))
    (loop $next
      (local.set $code (i32.load (local.get $column)))
      (f64.store
        (local.get $to)
        (select
          (f64.const nan)
          (f64.convert_i32_s (local.get $code))
          (i32.eq (local.get $code) (i32.const 0x80000000))))
      (local.set $to (i32.add (local.get $to) (i32.const 8)))
      (local.set $column (i32.add (local.get $column) (i32.const 4)))
      (br_if $next (i32.lt_u (local.get $column) (local.get $end)))))

  ;; Takes a key into the numbers by which rows are grouped: each becomes itself times the size of the key, plus the code and an
  ;; offset, or plus 0 for no value.
  (func (export "key32") (param $column i32) (param $rows i32) (param $numbers i32) (param $size i32) (param $offset i32)
    (local $end i32) (local $code i32)
    (local.set $end (i32.add (local.get $column) (i32.shl (local.get $rows) (i32.const 2))))
    (loop $next
      (local.set $code (i32.load (local.get $column)))
      (i32.store
        (local.get $numbers)
        (i32.add
          (i32.mul (i32.load (local.get $numbers)) (local.get $size))
          (select
            (i32.const 0)
            (i32.add (local.get $code) (local.get $offset))
            (i32.eq (local.get $code) (i32.const 0x80000000)))))
      (local.set $numbers (i32.add (local.get $numbers) (i32.const 4)))
      (local.set $column (i32.add (local.get $column) (i32.const 4)))
      (br_if $next (i32.lt_u (local.get $column) (local.get $end)))))

  ;; The same of periods: a table has the number of each day. A day is the code less the middle of the first day, times the days
  ;; of a unit, rounded: a float plus 1.5 * 2^52 has an integer up to 2^51 in its lowest bits.
  (func (export "period64")
    (param $column i32) (param $rows i32) (param $numbers i32) (param $size i32)
    (param $middle f64) (param $inverse f64) (param $table i32) (param $days i32)
    (local $end i32) (local $code f64) (local $day i32) (local $number i32)
    (local.set $end (i32.add (local.get $column) (i32.shl (local.get $rows) (i32.const 3))))
    (loop $next
      (local.set $code (f64.load (local.get $column)))
      (local.set $day
        (i32.wrap_i64
          (i64.reinterpret_f64
            (f64.add
              (f64.mul (f64.sub (local.get $code) (local.get $middle)) (local.get $inverse))
              (f64.const 0x1.8p+52)))))
      (local.set $number (i32.const 0))
      ;; Rows that were removed may have other days.
      (if (i32.and (f64.eq (local.get $code) (local.get $code)) (i32.lt_u (local.get $day) (local.get $days)))
        (then
          (local.set $number (i32.load (i32.add (local.get $table) (i32.shl (local.get $day) (i32.const 2)))))))
      (i32.store
        (local.get $numbers)
        (i32.add (i32.mul (i32.load (local.get $numbers)) (local.get $size)) (local.get $number)))
      (local.set $numbers (i32.add (local.get $numbers) (i32.const 4)))
      (local.set $column (i32.add (local.get $column) (i32.const 8)))
      (br_if $next (i32.lt_u (local.get $column) (local.get $end)))))

  ;; Adds up the floats of the rows in a bitmap by their numbers, in units of 64 bits, and counts those that are a value: in
  ;; records of so many bytes, at two offsets. Counts the rows at the begin of a record, too, where `one` is not 0.
  (func (export "add")
    (param $bits i32) (param $bytes i32) (param $numbers i32) (param $column i32) (param $records i32) (param $size i32)
    (param $one i32) (param $value i32) (param $sum i32) (param $units f64)
    (local $end i32) (local $left i64) (local $row i32)
    (local.set $end (i32.add (local.get $bits) (local.get $bytes)))
    (loop $next
      (local.set $left (i64.load (local.get $bits)))
      (if (i64.eq (local.get $left) (i64.const -1))
        (then
          (local.set $row (i32.const 0))
          (loop $each
            (call $addRow
              (f64.load (i32.add (local.get $column) (i32.shl (local.get $row) (i32.const 1))))
              (i32.add
                (local.get $records)
                (i32.mul (i32.load (i32.add (local.get $numbers) (local.get $row))) (local.get $size)))
              (local.get $one) (local.get $value) (local.get $sum) (local.get $units))
            (local.set $row (i32.add (local.get $row) (i32.const 4)))
            (br_if $each (i32.lt_u (local.get $row) (i32.const 256)))))
        (else
          (block $done
            (loop $bit
              (br_if $done (i64.eqz (local.get $left)))
              (local.set $row (i32.shl (i32.wrap_i64 (i64.ctz (local.get $left))) (i32.const 2)))
              (local.set $left (i64.and (local.get $left) (i64.sub (local.get $left) (i64.const 1))))
              (call $addRow
                (f64.load (i32.add (local.get $column) (i32.shl (local.get $row) (i32.const 1))))
                (i32.add
                  (local.get $records)
                  (i32.mul (i32.load (i32.add (local.get $numbers) (local.get $row))) (local.get $size)))
                (local.get $one) (local.get $value) (local.get $sum) (local.get $units))
              (br $bit)))))
      (local.set $numbers (i32.add (local.get $numbers) (i32.const 256)))
      (local.set $column (i32.add (local.get $column) (i32.const 512)))
      (local.set $bits (i32.add (local.get $bits) (i32.const 8)))
      (br_if $next (i32.lt_u (local.get $bits) (local.get $end)))))

  (func $addRow
    (param $code f64) (param $record i32) (param $one i32) (param $value i32) (param $sum i32) (param $units f64)
    (i32.store (local.get $record) (i32.add (i32.load (local.get $record)) (local.get $one)))
    (if (f64.eq (local.get $code) (local.get $code))
      (then
        (local.set $value (i32.add (local.get $record) (local.get $value)))
        (i32.store (local.get $value) (i32.add (i32.load (local.get $value)) (i32.const 1)))
        (local.set $sum (i32.add (local.get $record) (local.get $sum)))
        (i64.store
          (local.get $sum)
          (i64.add
            (i64.load (local.get $sum))
            ;; Rounded as in period64.
            (i64.sub
              (i64.reinterpret_f64 (f64.add (f64.mul (local.get $code) (local.get $units)) (f64.const 0x1.8p+52)))
              (i64.const 0x4338000000000000)))))))
)

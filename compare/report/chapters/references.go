package chapters

import "gemm/compare/report/document"

// bibliography has the sources that chapters link to as #ref-…, each in its own language.
var bibliography = []struct {
	id   string
	text document.Text
}{
	{"ref-amdahl1967", "G. M. Amdahl. Validity of the single processor approach to achieving large scale computing " +
		"capabilities. *AFIPS Spring Joint Computer Conference*, 30:483–485, 1967."},
	{"ref-bryant2016", "R. E. Bryant and D. R. O'Hallaron. *Computer Systems: A Programmer's Perspective*. 3rd " +
		"edition, " +
		"Pearson, 2016."},
	{"ref-cannon1969", "L. E. Cannon. *A cellular computer to implement the Kalman filter algorithm*. PhD thesis, " +
		"Montana State University, 1969."},
	{"ref-golub2013", "G. H. Golub and C. F. Van Loan. *Matrix Computations*. 4th edition, Johns Hopkins University " +
		"Press, 2013."},
	{"ref-goto2008", "K. Goto and R. A. van de Geijn. Anatomy of high-performance matrix multiplication. *ACM " +
		"Transactions on Mathematical Software*, 34(3), article 12, 2008."},
	{"ref-gustafson1988", "J. L. Gustafson. Reevaluating Amdahl's law. *Communications of the ACM*, 31(5):532–533, 1988."},
	{"ref-higham2002", "N. J. Higham. *Accuracy and Stability of Numerical Algorithms*. 2nd edition, SIAM, 2002."},
	{"ref-karp1990", "A. H. Karp and H. P. Flatt. Measuring parallel processor performance. *Communications of the ACM*, " +
		"33(5):539–543, 1990."},
	{"ref-krishnan2004", "M. Krishnan and J. Nieplocha. SRUMMA: a matrix multiplication algorithm suitable for clusters " +
		"and scalable shared memory systems. *18th International Parallel and Distributed Processing Symposium*, 2004."},
	{"ref-plank2013", "J. S. Plank, K. M. Greenan and E. L. Miller. Screaming fast Galois field arithmetic using Intel " +
		"SIMD instructions. *11th USENIX Conference on File and Storage Technologies*, 299–306, 2013."},
	{"ref-report2024", "Course report on general matrix multiplication. Parallel programming, Sun Yat-sen University, " +
		"spring 2024."},
	{"ref-solomonik2011", "E. Solomonik and J. Demmel. Communication-optimal parallel 2.5D matrix multiplication and LU " +
		"factorization algorithms. *Euro-Par 2011*, Lecture Notes in Computer Science 6853:90–109, 2011."},
	{"ref-strassen1969", "V. Strassen. Gaussian elimination is not optimal. *Numerische Mathematik*, 13:354–356, 1969."},
	{"ref-vandegeijn1997", "R. A. van de Geijn and J. Watts. SUMMA: scalable universal matrix multiplication algorithm. " +
		"*Concurrency: Practice and Experience*, 9(4):255–274, 1997."},
	{"ref-volkov2010", "V. Volkov. Better performance at lower occupancy. *GPU Technology Conference*, 2010."},
	{"ref-williams2009", "S. Williams, A. Waterman and D. Patterson. Roofline: an insightful visual performance model for " +
		"multicore architectures. *Communications of the ACM*, 52(4):65–76, 2009."},
	{"ref-winograd1971", "S. Winograd. On multiplication of 2×2 matrices. *Linear Algebra and its Applications*, " +
		"4(4):381–388, 1971."},
}

// References is the list of the sources.
func (b *Builder) References() document.Section {
	s := b.Section("references", 1)
	var list document.List
	for _, source := range bibliography {
		list.Items, list.IDs = append(list.Items, source.text), append(list.IDs, source.id)
	}
	s.Add(list)
	return s
}

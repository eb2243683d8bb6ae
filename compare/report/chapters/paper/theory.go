package paper

import "gemm/compare/report/document"

// part is a paragraph of an analysis, by its message, or an equation. The equations 1 to 22 have the
// numbers that they have in the course report of 2024.
type part struct {
	key      string
	equation document.Equation
}

func said(key string) part { return part{key: key} }

func equation(number int, tex string) part {
	return part{equation: document.Equation{Number: number, TeX: tex}}
}

// theory is the analysis of each family.
var theory = map[string][]part{
	"serial": {
		said("theory.serial.product"),
		equation(1, `C_{ij} = \sum_{p=1}^{k} A_{ip} B_{pj}, \qquad 1 \le i \le m,\ 1 \le j \le n`),
		said("theory.serial.order"),
		said("theory.serial.chain"),
		said("theory.serial.blocks"),
		said("theory.serial.packing"),
		equation(23, `\frac{m_r + n_r}{m_r n_r} = \frac{1}{m_r} + \frac{1}{n_r}`),
		said("theory.serial.roofline"),
		equation(24, `P(I) = \min(P_{\max},\ I \cdot W)`),
		said("theory.serial.strassen"),
		equation(25, `T(n) = 7\,T\left(\frac{n}{2}\right) + 18\left(\frac{n}{2}\right)^2 = O(n^{\log_2 7}) \approx O(n^{2.81})`),
	},
	"mpi": {
		said("theory.mpi.ways"),
		said("theory.mpi.rows"),
		equation(2, `\frac{mk}{P-1} + kn`),
		equation(3, `\frac{2mnk}{P-1}`),
		said("theory.mpi.blocks"),
		equation(4, `\frac{mk}{p} + \frac{kn}{q}, \qquad pq = P-1`),
		equation(5, `\frac{2mnk}{P-1}`),
		said("theory.mpi.less"),
		equation(6, `p = P-1,\quad q = 1`),
		said("theory.mpi.master"),
		said("theory.mpi.messages"),
		equation(26, `T = \alpha\,s + \beta\,b`),
		said("theory.mpi.spread"),
	},
	"parallel": {
		said("theory.parallel.split"),
		said("theory.parallel.private"),
		said("theory.parallel.schedules"),
		said("theory.parallel.amdahl"),
		equation(27, `S(p) = \frac{1}{f + (1-f)/p}`),
	},
	"cuda": {
		said("theory.cuda.naive"),
		said("theory.cuda.tiles"),
		equation(7, `A:\quad m \times k = (M \cdot b_m) \times (K \cdot b_k)`),
		equation(8, `B:\quad k \times n = (K \cdot b_k) \times (N \cdot b_n)`),
		equation(9, `C:\quad m \times n = (M \cdot b_m) \times (N \cdot b_n)`),
		said("theory.cuda.sum"),
		equation(10, `C_{IJ} = \sum_{L=1}^{K} A_{IL} B_{LJ}`),
		said("theory.cuda.global"),
		equation(11, `M N K\,(b_m b_k + b_k b_n)`),
		equation(12, `= mnk\left(\frac{1}{b_m} + \frac{1}{b_n}\right)`),
		said("theory.cuda.registers"),
		equation(13, `C_{IJ} = \sum_{l=1}^{b_k} a_l\,b_l^T`),
		said("theory.cuda.shared"),
		equation(14, `\frac{b_m}{t_m} \cdot \frac{b_n}{t_n} \cdot (t_m + t_n)\,b_k`),
		equation(15, `= b_m b_n b_k\left(\frac{1}{t_m} + \frac{1}{t_n}\right)`),
		said("theory.cuda.limits"),
		equation(16, `\frac{b_m}{t_m} \cdot \frac{b_n}{t_n} \le 1024`),
		equation(17, `4\,(b_m b_k + b_k b_n) \le \frac{49152}{2}`),
		equation(18, `b_m b_n \le \frac{65536}{2}`),
		said("theory.cuda.load"),
		equation(19, `\frac{b_m b_k}{S^2}`),
		equation(20, `b_m = 8\,S`),
		equation(21, `\frac{b_m b_k}{S^2} = \frac{8\,b_k}{S} \le b_k`),
		equation(22, `S \ge 8`),
		said("theory.cuda.occupancy"),
	},
}
